{{/* The image of every Pod. Refuses the image of OpenKruise, whose binary knows neither our roles nor our flags. */}}
{{- define "kruise.image" -}}
{{- $image := .Values.manager.image -}}
{{- if regexMatch "(^|/)openkruise/kruise-manager($|[:@])" $image.repository -}}
{{- fail (printf "manager.image.repository is %q, the image of OpenKruise: this chart runs Fairlead, which that image does not contain. Leave manager.image.repository and manager.image.tag out, or name the copy of the Fairlead image in your registry: --set manager.image.repository=REGISTRY/fairlead/fairlead" $image.repository) -}}
{{- end -}}
{{- $tag := default .Chart.AppVersion $image.tag | toString -}}
{{- if not (regexMatch "^([a-zA-Z0-9][a-zA-Z0-9.-]*(:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$" $image.repository) -}}
{{- fail (printf "manager.image.repository is %q, which is no name of an image: REGISTRY[:PORT]/PATH, the path in lower case, without a scheme; its tag goes into manager.image.tag" $image.repository) -}}
{{- end -}}
{{- if not (regexMatch "^[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}(@sha256:[0-9a-f]{64})?$" $tag) -}}
{{- fail (printf "manager.image.tag is %q, which is no tag: letters, digits, `_`, `.` and `-`, 128 at most, perhaps with @sha256:DIGEST behind it" $tag) -}}
{{- end -}}
{{- printf "%s:%s" $image.repository $tag -}}
{{- end -}}

{{/* The ports of a Pod, checked: two of the same number would end as a crash loop. */}}
{{- define "kruise.checkPorts" -}}
{{- $ports := dict -}}
{{- range $name, $port := dict "manager.webhook.port" .Values.manager.webhook.port "manager.metrics.port" .Values.manager.metrics.port "manager.healthProbe.port" .Values.manager.healthProbe.port -}}
  {{- $port = $port | int | toString -}}
  {{- if hasKey $ports $port -}}
    {{- fail (printf "%s and %s are both %s: one process serves all three, so that they must differ" (get $ports $port) $name $port) -}}
  {{- end -}}
  {{- $_ := set $ports $port $name -}}
{{- end -}}
{{- end -}}

{{/* imagePullSecrets: entries are names, or objects with a name. */}}
{{- define "kruise.imagePullSecrets" -}}
{{- with .Values.imagePullSecrets -}}
imagePullSecrets:
{{- range . }}
  - name: {{ if kindIs "map" . }}{{ .name | quote }}{{ else }}{{ . | quote }}{{ end }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* kruise.gate (list $ NAME): the value that featureGates gives the gate NAME, "true" or "false", or nothing. */}}
{{- define "kruise.gate" -}}
{{- $name := index . 1 -}}
{{- range splitList "," ((index . 0).Values.featureGates | default "") -}}
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
{{- range splitList "," (.Values.featureGates | default "") -}}
  {{- if and (trim .) (not (regexMatch "^[A-Za-z]+ *= *([Tt]rue|[Ff]alse|TRUE|FALSE)$" (trim .))) -}}
    {{- fail (printf "featureGates: %q must read Gate=true or Gate=false; separate several by commas (\\, on the command line)" (trim .)) -}}
  {{- end -}}
  {{- $gate := splitList "=" . | first | trim -}}
  {{- if and $gate (not (has $gate $known)) -}}
    {{- fail (printf "featureGates: there is no gate %q; the gates are %s" $gate (join ", " $known)) -}}
  {{- end -}}
{{- end -}}
{{- $gates := nospace (.Values.featureGates | default "") -}}
{{- if and (include "kruise.certManager" .) (ne (include "kruise.gate" (list . "EnableExternalCerts")) "true") -}}
  {{- $gates = append (compact (list $gates)) "EnableExternalCerts=true" | join "," -}}
{{- end -}}
{{- $gates -}}
{{- end -}}

{{/* "true" when the chart asks cert-manager for the certificates. */}}
{{- define "kruise.certManager" -}}
{{- if (.Values.certManager | default dict).enabled -}}
  {{- if eq (include "kruise.gate" (list . "EnableExternalCerts")) "false" -}}
    {{- fail "certManager.enabled is true, but featureGates has EnableExternalCerts=false: with it the service makes its certificates itself. Take one of them away" -}}
  {{- end -}}
true
{{- end -}}
{{- end -}}

{{/* "true" when somebody else, such as cert-manager, writes the certificate into the Secret. */}}
{{- define "kruise.externalCerts" -}}
{{- $own := include "kruise.gate" (list . "EnableExternalCerts") -}}
{{- if or (include "kruise.certManager" .) (eq $own "true") (and (eq $own "") (eq (include "kruise.gate" (list . "AllAlpha")) "true")) -}}
true
{{- end -}}
{{- end -}}

{{/* The Certificate that the chart makes, and by which the injector finds the CA. */}}
{{- define "kruise.certificate" -}}
kruise-webhook
{{- end -}}

{{/* Annotations that ask for CA bundles, as YAML. */}}
{{- define "kruise.injection" -}}
{{- $annotations := deepCopy (.Values.externalCerts.annotations | default dict) -}}
{{- if include "kruise.certManager" . -}}
  {{- $_ := set $annotations "cert-manager.io/inject-ca-from" (printf "%s/%s" (include "kruise.namespace" .) (include "kruise.certificate" .)) -}}
{{- end -}}
{{- toYaml $annotations -}}
{{- end -}}

{{/*
Annotations of the definitions from externalCerts.annotations, as YAML. While the service registers, it is the service that
asks for CA bundles, when every replica serves a certificate of the CA that will be injected, and that takes the request
back; here it would come too early and stay too long.
*/}}
{{- define "kruise.definitionAnnotations" -}}
{{- $external := include "kruise.externalCerts" . -}}
{{- $annotations := dict -}}
{{- range $key, $value := include "kruise.injection" . | fromYaml -}}
  {{- if and (not (hasPrefix "cert-manager.io/inject-" $key)) (not (and $external (include "kruise.registers" $))) -}}
    {{- $_ := set $annotations $key $value -}}
  {{- else if and $external (not (include "kruise.registers" $)) -}}
    {{- $_ := set $annotations $key $value -}}
  {{- end -}}
{{- end -}}
{{- toYaml $annotations -}}
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
    {{- range $entry := list "mpod" "vpod" "vpodeviction" -}}
      {{- $_ := set $policies $entry $.Values.webhookConfiguration.failurePolicy.pods -}}
    {{- end -}}
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

{{/* How often what exists is judged by users' policies; nothing if never. So too with the values of a release that did not have it. */}}
{{- define "kruise.auditInterval" -}}
{{- $interval := (.Values.policies | default dict).audit | default dict | dig "interval" "1h" | toString -}}
{{- if and $interval (ne $interval "0") -}}
{{- $interval -}}
{{- end -}}
{{- end -}}
