// Package kubelets says what the kubelets of fake nodes report, as kwok's configuration.
package kubelets

import _ "embed"

// Stages is a configuration file of kwok: options and the Stages of nodes and Pods.
//
//go:embed stages.yaml
var Stages string
