# METADATA
# title: PodProbeMarker
# description: What a PodProbeMarker must be (more-controllers.md §3).
# custom:
#   kinds: [PodProbeMarker]
#   code: 400
package fairlead.apps.podprobemarker

import data.fairlead.shared.list
import data.fairlead.shared.selector

spec := object.get(input.object, "spec", {})

old := object.get(input, ["oldObject", "spec"], {})

namespace := object.get(input.object, ["metadata", "namespace"], "")

name := object.get(input.object, ["metadata", "name"], "")

probes := object.get(spec, "probes", [])

at(i) := sprintf("spec.probes[%d]", [i])

built_in := {"ContainersReady", "InPlaceUpdateReady", "Initialized", "KruisePodReady", "PodScheduled", "Ready"}

# METADATA
# title: The kind is switched on
# description: The feature gates KruiseDaemon and PodProbeMarkerGate are on.
# custom:
#   id: podprobemarker-gate
#   code: 403
deny contains {"rule": "podprobemarker-gate", "field": "spec", "type": "forbidden", "message": sprintf("the feature gate %s is off", [gate])} if {
	some gate in ["KruiseDaemon", "PodProbeMarkerGate"]
	not data.inventory.gates[gate]
}

# METADATA
# title: The selector selects
# description: spec.selector is a valid label selector that asks for something.
# custom:
#   id: podprobemarker-selector
deny contains object.union(problem, {"rule": "podprobemarker-selector"}) if {
	some problem in selector.required("spec.selector", object.get(spec, "selector", null))
}

# METADATA
# title: The selector stays
# description: An update does not change spec.selector.
# custom:
#   id: podprobemarker-selector-immutable
deny contains {"rule": "podprobemarker-selector-immutable", "field": "spec.selector", "type": "forbidden", "message": "cannot be changed: create another PodProbeMarker"} if {
	input.operation == "UPDATE"
	object.get(spec, "selector", null) != object.get(old, "selector", null)
}

# METADATA
# title: There are probes
# description: spec.probes has at least one.
# custom:
#   id: podprobemarker-probes
deny contains {"rule": "podprobemarker-probes", "field": "spec.probes", "type": "required", "message": "at least one probe"} if {
	count(probes) == 0
}

# METADATA
# title: Probes have names
# description: The name of every probe is not empty, has no '#', and is no condition that Kubernetes or a controller sets.
# custom:
#   id: podprobemarker-name
deny contains {"rule": "podprobemarker-name", "field": sprintf("%s.name", [at(i)]), "type": "invalid", "value": object.get(probe, "name", ""), "message": "must not be empty, have no '#', and be no condition that others set, such as Ready"} if {
	some i, probe in probes
	named_badly(object.get(probe, "name", ""))
}

named_badly("")

named_badly(text) if contains(text, "#")

named_badly(text) if text in built_in

# METADATA
# title: Probes differ
# description: No two probes have the same name.
# custom:
#   id: podprobemarker-name-duplicate
deny contains {"rule": "podprobemarker-name-duplicate", "field": sprintf("%s.name", [at(i)]), "type": "duplicate", "value": probes[i].name} if {
	some i in list.repeated([object.get(probe, "name", "") | some probe in probes])
	probes[i].name != ""
}

# METADATA
# title: Probes have containers
# description: The containerName of every probe is not empty.
# custom:
#   id: podprobemarker-container
deny contains {"rule": "podprobemarker-container", "field": sprintf("%s.containerName", [at(i)]), "type": "required", "message": "the container that is probed"} if {
	some i, probe in probes
	object.get(probe, "containerName", "") == ""
}

handlers(probe) := [handler | some handler in ["exec", "grpc", "httpGet", "tcpSocket"]; probe.probe[handler] != null]

# METADATA
# title: Probes do one thing
# description: Every probe has one of exec, httpGet and tcpSocket.
# custom:
#   id: podprobemarker-handler
deny contains {"rule": "podprobemarker-handler", "field": sprintf("%s.probe", [at(i)]), "type": "invalid", "value": handlers(probe), "message": "must have one of exec, httpGet and tcpSocket"} if {
	some i, probe in probes
	not handlers(probe) in [["exec"], ["httpGet"], ["tcpSocket"]]
}

# METADATA
# title: Probes stay in the Pod
# description: "httpGet and tcpSocket have no host: the Pod is probed."
# custom:
#   id: podprobemarker-host
deny contains {"rule": "podprobemarker-host", "field": sprintf("%s.probe.%s.host", [at(i), handler]), "type": "forbidden", "message": "must not be set: the Pod is probed"} if {
	some i, probe in probes
	some handler in ["httpGet", "tcpSocket"]
	object.get(probe, ["probe", handler, "host"], "") != ""
}

# METADATA
# title: Requests are written out
# description: httpGet has a path and the scheme HTTP or HTTPS.
# custom:
#   id: podprobemarker-http
deny contains {"rule": "podprobemarker-http", "field": sprintf("%s.probe.httpGet.%s", [at(i), member]), "type": "required", "message": "must be written out: a path such as /healthz, and the scheme HTTP or HTTPS"} if {
	some i, probe in probes
	probe.probe.httpGet != null
	some member in ["path", "scheme"]
	object.get(probe.probe.httpGet, member, "") == ""
}

# probed is a Pod with a container for each probe; the API server knows what else is wrong with a probe.
probed := {"containers": [container |
	some i, probe in probes
	container := {"name": sprintf("c%d", [i]), "image": "a", "startupProbe": once(probe.probe)}
]}

# once is a probe with a successThreshold that a startupProbe may have.
once(probe) := object.union(object.remove(probe, ["successThreshold"]), {"successThreshold": 1}) if probe.successThreshold > 1

else := probe

fields := {sprintf("containers[%d].startupProbe", [i]): sprintf("%s.probe", [at(i)]) | some i, probe in probes; probe.probe}

judged := {"errors": [], "warnings": []} if {
	probes == object.get(old, "probes", [])
} else := fairlead.pod_spec_problems(probed, fields) if {
	count(fields) == count(probes)
} else := {"errors": [], "warnings": []}

warn contains warning if some warning in judged.warnings

# METADATA
# title: Probes are probes
# description: Every probe is judged by the API server as that of a container.
# custom:
#   id: podprobemarker-probe
deny contains object.union(problem, {"rule": "podprobemarker-probe"}) if {
	some problem in judged.errors
}

# METADATA
# title: Probes tell somebody
# description: Every probe has a podConditionType or a markerPolicy.
# custom:
#   id: podprobemarker-effect
deny contains {"rule": "podprobemarker-effect", "field": sprintf("%s.podConditionType", [at(i)]), "type": "required", "message": "set podConditionType or markerPolicy: the result must show somewhere"} if {
	some i, probe in probes
	object.get(probe, "podConditionType", "") == ""
	count(object.get(probe, "markerPolicy", [])) == 0
}

# METADATA
# title: Conditions have a name
# description: podConditionType has the syntax of a label's key.
# custom:
#   id: podprobemarker-condition
deny contains {"rule": "podprobemarker-condition", "field": sprintf("%s.podConditionType", [at(i)]), "type": "invalid", "value": probe.podConditionType, "message": problem} if {
	some i, probe in probes
	probe.podConditionType != ""
	some problem in fairlead.qualified_name_errors(probe.podConditionType)
}

# METADATA
# title: Conditions are told once
# description: No two probes have the same podConditionType.
# custom:
#   id: podprobemarker-condition-duplicate
deny contains {"rule": "podprobemarker-condition-duplicate", "field": sprintf("%s.podConditionType", [at(i)]), "type": "duplicate", "value": probes[i].podConditionType} if {
	some i in list.repeated([object.get(probe, "podConditionType", "") | some probe in probes])
	probes[i].podConditionType != ""
}

# METADATA
# title: States are known
# description: The state of every markerPolicy is Succeeded or Failed.
# custom:
#   id: podprobemarker-state
deny contains {"rule": "podprobemarker-state", "field": sprintf("%s.markerPolicy[%d].state", [at(i), j]), "type": "unsupported", "value": state, "message": `supported values: "Failed", "Succeeded"`} if {
	some i, probe in probes
	some j, marker in probe.markerPolicy
	state := object.get(marker, "state", "")
	not state in {"Failed", "Succeeded"}
}

# METADATA
# title: States are marked once
# description: No two markerPolicies of a probe have the same state.
# custom:
#   id: podprobemarker-state-duplicate
deny contains {"rule": "podprobemarker-state-duplicate", "field": sprintf("%s.markerPolicy[%d].state", [at(i), j]), "type": "duplicate", "value": probe.markerPolicy[j].state} if {
	some i, probe in probes
	some j in list.repeated([object.get(marker, "state", "") | some marker in probe.markerPolicy])
}

# METADATA
# title: Markers mark
# description: Every markerPolicy has labels or annotations.
# custom:
#   id: podprobemarker-mark
deny contains {"rule": "podprobemarker-mark", "field": sprintf("%s.markerPolicy[%d].labels", [at(i), j]), "type": "required", "message": "labels or annotations to put on Pods"} if {
	some i, probe in probes
	some j, marker in probe.markerPolicy
	count(object.get(marker, "labels", {})) == 0
	count(object.get(marker, "annotations", {})) == 0
}

# METADATA
# title: Marks are labels and annotations
# description: labels and annotations of every markerPolicy are those of Kubernetes.
# custom:
#   id: podprobemarker-mark-valid
deny contains object.union(problem, {"rule": "podprobemarker-mark-valid"}) if {
	some i, probe in probes
	some j, marker in probe.markerPolicy
	some problem in marks(sprintf("%s.markerPolicy[%d]", [at(i), j]), marker)
}

marks(field, marker) := {problem | some problem in fairlead.labels_errors(sprintf("%s.labels", [field]), marker.labels)} | {problem | some problem in fairlead.annotations_errors(sprintf("%s.annotations", [field]), marker.annotations)}
