{{/* The image of every Pod. Refuses the image of OpenKruise, whose binary knows neither our roles nor our flags. */}}
{{- define "kruise.image" -}}
{{- $image := .Values.manager.image -}}
{{- if regexMatch "(^|/)openkruise/kruise-manager($|[:@])" $image.repository -}}
{{- fail (printf "manager.image.repository is %q, the image of OpenKruise: this chart runs Fairlead, which that image does not contain. Leave manager.image.repository and manager.image.tag out, or name the copy of the Fairlead image in your registry: --set manager.image.repository=REGISTRY/fairlead/fairlead" $image.repository) -}}
{{- end -}}
{{- printf "%s:%v" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}

{{/* imagePullSecrets: entries are names, or objects with a name. */}}
{{- define "kruise.imagePullSecrets" -}}
{{- with .Values.imagePullSecrets -}}
imagePullSecrets:
{{- range . }}
  - name: {{ if kindIs "map" . }}{{ .name }}{{ else }}{{ . }}{{ end }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* kruise.gate (list $ NAME): the value that featureGates gives the gate NAME, "true" or "false", or nothing. */}}
{{- define "kruise.gate" -}}
{{- $name := index . 1 -}}
{{- range splitList "," (index . 0).Values.featureGates -}}
  {{- $pair := splitList "=" (trim .) -}}
  {{- if eq (trim (first $pair)) $name -}}
    {{- trim (last $pair) | lower -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* The gates that the program knows; it refuses to start with others. */}}
{{- define "kruise.knownGates" -}}
AllAlpha AllBeta CloneSetEventHandlerOptimization CloneSetPartitionRollback CloneSetShortHash DaemonSetPruneIneligibleNodes DaemonWatchingPod DefaultHostNetworkHostPortsInPodTemplates DeletionProtectionForCRDCascadingGate EnableExternalCerts EnablePodProbeMarkerOnServerless EnableSortSidecarContainerByName EnhancedLivenessProbe ForceDeleteTimeoutExpectationGate ImagePullJobGate InPlacePodVerticalScaling InPlaceUpdateEnvFromMetadata InPlaceWorkloadVerticalScaling KruiseDaemon KruisePodReadinessGate PodIndexLabel PodProbeMarkerGate PodUnavailableBudgetDeleteGate PodUnavailableBudgetUpdateGate PodWebhook PreDownloadImageForDaemonSetUpdate PreDownloadImageForInPlaceUpdate PreparingUpdateAsUpdate RecreatePodWhenChangeVCTInCloneSetGate ResourceDistributionGate ResourcesDeletionProtection SidecarSetPatchPodMetadataDefaultsAllowed SidecarTerminator StatefulSetAutoDeletePVC StatefulSetAutoResizePVCGate StatefulSetStartOrdinal TemplateNoDefaults WorkloadSpread
{{- end -}}

{{/* featureGates, checked here so that a typing mistake does not end as a crash loop. */}}
{{- define "kruise.featureGates" -}}
{{- $known := include "kruise.knownGates" . | splitList " " -}}
{{- range splitList "," .Values.featureGates -}}
  {{- if and (trim .) (not (regexMatch "^[A-Za-z]+ *= *([Tt]rue|[Ff]alse|TRUE|FALSE)$" (trim .))) -}}
    {{- fail (printf "featureGates: %q must read Gate=true or Gate=false; separate several by commas (\\, on the command line)" (trim .)) -}}
  {{- end -}}
  {{- $gate := splitList "=" . | first | trim -}}
  {{- if and $gate (not (has $gate $known)) -}}
    {{- fail (printf "featureGates: there is no gate %q; the gates are %s" $gate (join ", " $known)) -}}
  {{- end -}}
{{- end -}}
{{- if include "kruise.externalCerts" . -}}
  {{- fail "featureGates: EnableExternalCerts is on, by itself or through AllAlpha=true, but this version makes its own certificates only: add EnableExternalCerts=false" -}}
{{- end -}}
{{- nospace .Values.featureGates -}}
{{- end -}}

{{/* "true" when somebody else, such as cert-manager, writes the certificates' Secret. */}}
{{- define "kruise.externalCerts" -}}
{{- $own := include "kruise.gate" (list . "EnableExternalCerts") -}}
{{- if or (eq $own "true") (and (eq $own "") (eq (include "kruise.gate" (list . "AllAlpha")) "true")) -}}
true
{{- end -}}
{{- end -}}

{{/* "true" unless others register; so too with the values of a release that did not have this one (--reuse-values). */}}
{{- define "kruise.registers" -}}
{{- if ne (toString .Values.webhookConfiguration.register) "false" -}}
true
{{- end -}}
{{- end -}}

{{/* "true" unless labels shall protect nothing from deletion. */}}
{{- define "kruise.deletionProtection" -}}
{{- $own := include "kruise.gate" (list . "ResourcesDeletionProtection") -}}
{{- if not (or (eq $own "false") (and (eq $own "") (eq (include "kruise.gate" (list . "AllBeta")) "false"))) -}}
true
{{- end -}}
{{- end -}}

{{/* "true" when the objects of protected CustomResourceDefinitions are to be counted. */}}
{{- define "kruise.crdCascading" -}}
{{- $own := include "kruise.gate" (list . "DeletionProtectionForCRDCascadingGate") -}}
{{- if or (eq $own "true") (and (eq $own "") (eq (include "kruise.gate" (list . "AllAlpha")) "true")) -}}
true
{{- end -}}
{{- end -}}

{{/*
webhookConfiguration.failurePolicy as the flag takes it: `pods` means every entry for Pods, any other key is an
entry's name, with or without its `.kb.io`. The more exact key wins.
*/}}
{{- define "kruise.failurePolicies" -}}
{{- $policies := dict -}}
{{- with .Values.webhookConfiguration.failurePolicy -}}
  {{- with .pods -}}
    {{- $_ := set $policies "mpod" . -}}
  {{- end -}}
  {{- range $entry, $policy := omit . "pods" -}}
    {{- $_ := set $policies (trimSuffix ".kb.io" $entry) $policy -}}
  {{- end -}}
{{- end -}}
{{- $flag := list -}}
{{- range $entry, $policy := $policies -}}
  {{- $flag = append $flag (printf "%s.kb.io=%s" $entry $policy) -}}
{{- end -}}
{{- join "," $flag -}}
{{- end -}}
