#!/usr/bin/env bash
# Checks what the chart renders against the schemas of the oldest and the newest supported Kubernetes, fields that they
# do not know included. Needs no network. The schemas are written by schemas/main.go.
set -euo pipefail
cd "$(dirname "$0")/../../.."

tool() { go tool -modfile="internal/tools/$1/go.mod" "$@"; }
conform() { # VERSION < manifests
  tool kubeconform -strict -summary -kubernetes-version "$1" \
    -schema-location 'internal/tools/kubeconform/schemas/{{.NormalizedKubernetesVersion}}/{{.ResourceKind}}{{.KindSuffix}}.json' \
    -schema-location 'internal/tools/kubeconform/schemas/custom/{{.ResourceKind}}{{.KindSuffix}}.json' -
}
render() { tool helm template kruise charts/kruise --kube-version "$@"; }

# Every template that a value switches on, and every value that adds a field.
everything=(
  --set webhook.autoscaling.enabled=true --set manager.hostNetwork=true --set webhook.priorityClassName=mine
  --set 'imagePullSecrets={one}' --set externalCerts.annotations.a=b --set serviceAccount.annotations.a=b
  --set certManager.enabled=true --set networkPolicy.enabled=true --set 'networkPolicy.apiServerCIDRs={10.0.0.1/32}'
  --set monitoring.serviceMonitor.enabled=true --set monitoring.prometheusRule.enabled=true
  --set monitoring.dashboard.enabled=true --set monitoring.serviceMonitor.labels.a=b --set monitoring.dashboard.annotations.a=b
  --set nativePolicies.enabled=true --set 'policies.audit.resources[0].resource=services' --set 'policies.inventory[0].resource=secrets'
  --set manager.nodeSelector.pool=infra --set 'manager.tolerations[0].operator=Exists'
  --set-json 'manager.nodeAffinity={"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"pool","operator":"Exists"}]}]}}'
)

for folder in internal/tools/kubeconform/schemas/v*/; do
  version=$(basename "$folder")
  version=${version#v}
  render "$version" | conform "$version"
  render "$version" "${everything[@]}" | conform "$version"
  if render "$version" | sed 's/minReadySeconds:/minReadySecond:/' | conform "$version" >/dev/null; then
    echo "a misspelt field passed: the schemas of $version are not strict" >&2
    exit 1
  fi
done
