// Package rig names what is built: with it, go.mod and go.sum pin every module of these four programs by its hash.
package rig

import (
	_ "k8s.io/kubectl/pkg/cmd"
	_ "k8s.io/kubernetes/cmd/kube-apiserver/app"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	_ "k8s.io/kubernetes/cmd/kubelet/app"
)
