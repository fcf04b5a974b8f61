package rig

import _ "k8s.io/kubernetes/cmd/kube-proxy/app"
