package conversion

import "testing"

func TestAdvancedCronJob(t *testing.T) {
	runExamples(t, "apps.kruise.io/AdvancedCronJob", Alpha, []example{
		{
			"a template that v1alpha1 does not have is kept",
			`
metadata: {name: pull}
spec:
  schedule: "*/5 * * * *"
  template: {imageListPullJobTemplate: {spec: {images: [nginx], completionPolicy: {type: Always}}}}
status: {type: ImageListPullJob}`,
			`
metadata:
  name: pull
  annotations:
    conversion.fairlead.io/v1beta1-fields: '[{"path":"/spec/template/imageListPullJobTemplate","value":{"spec":{"completionPolicy":{"type":"Always"},"images":["nginx"]}}}]'
spec: {schedule: "*/5 * * * *", template: {}}
status: {type: ImageListPullJob}`,
		},
		{
			"other templates are the same", `{metadata: {}, spec: {template: {jobTemplate: {spec: {new: 1}}}}}`,
			`{metadata: {}, spec: {template: {jobTemplate: {spec: {new: 1}}}}}`,
		},
	})
}

func TestContainerRecreateRequest(t *testing.T) {
	runExamples(t, "apps.kruise.io/ContainerRecreateRequest", Beta, []example{
		{
			"both annotations become status",
			`
metadata:
  annotations:
    keep: me
    crr.apps.kruise.io/unready-acquired: "2026-11-29T19:37:40+02:00"
    crr.apps.kruise.io/sync-container-statuses: '[ {"name":"app","ready":true,"restartCount":2} ]'
spec: {podName: web}
status: {phase: Recreating}`,
			`
metadata: {annotations: {keep: me}}
spec: {podName: web}
status:
  phase: Recreating
  containerStatusSnapshot: [{name: app, ready: true, restartCount: 2}]
  conditions: [{type: PreRecreateGrace, status: "True", lastTransitionTime: "2026-11-29T17:37:40Z", reason: PreRecreateGrace, message: ""}]`,
		},
		{
			"the annotation wins over a condition of its type, and others stay",
			`
metadata: {annotations: {crr.apps.kruise.io/unready-acquired: "2026-11-29T17:37:40Z"}}
status: {conditions: [{type: PreRecreateGrace, status: "False"}, {type: Other, status: "True"}]}`,
			`
metadata:
  annotations:
    conversion.fairlead.io/v1alpha1-fields: '[{"path":"/status/conditions","value":[{"status":"False","type":"PreRecreateGrace"},{"status":"True","type":"Other"}]}]'
status:
  conditions:
  - {type: Other, status: "True"}
  - {type: PreRecreateGrace, status: "True", lastTransitionTime: "2026-11-29T17:37:40Z", reason: PreRecreateGrace, message: ""}`,
		},
		{
			"what cannot be read is dropped",
			`
metadata:
  annotations:
    crr.apps.kruise.io/unready-acquired: yesterday
    crr.apps.kruise.io/sync-container-statuses: '{"name":"app"}'
status: {phase: Pending}`,
			`{metadata: {}, status: {phase: Pending}}`,
		},
	})
	runExamples(t, "apps.kruise.io/ContainerRecreateRequest", Alpha, []example{
		{
			"status becomes both annotations",
			`
metadata: {}
status:
  phase: Recreating
  containerStatusSnapshot: [{name: app, ready: false, restartCount: 0, containerID: "containerd://1"}]
  conditions: [{type: PreRecreateGrace, status: "True", lastTransitionTime: "2026-11-29T17:37:40Z", reason: PreRecreateGrace, message: ""}]`,
			`
metadata:
  annotations:
    crr.apps.kruise.io/sync-container-statuses: '[{"containerID":"containerd://1","name":"app","ready":false,"restartCount":0}]'
    crr.apps.kruise.io/unready-acquired: "2026-11-29T17:37:40Z"
status: {phase: Recreating}`,
		},
		{
			"a grace that is over is no annotation",
			`{metadata: {}, status: {phase: Completed, conditions: [{type: PreRecreateGrace, status: "False", lastTransitionTime: "2026-11-29T17:37:40Z"}]}}`,
			`
metadata:
  annotations: {conversion.fairlead.io/v1beta1-fields: '[{"path":"/status/conditions","value":[{"lastTransitionTime":"2026-11-29T17:37:40Z","status":"False","type":"PreRecreateGrace"}]}]'}
status: {phase: Completed}`,
		},
		{
			"stale annotations are not shown, and a time is in UTC",
			`
metadata:
  annotations:
    crr.apps.kruise.io/sync-container-statuses: '[{"name":"old"}]'
    crr.apps.kruise.io/unready-acquired: "2020-01-01T00:00:00Z"
status: {conditions: [{type: PreRecreateGrace, status: "True", lastTransitionTime: "2026-11-29T19:37:40+02:00", reason: PreRecreateGrace, message: ""}]}`,
			`
metadata:
  annotations:
    crr.apps.kruise.io/unready-acquired: "2026-11-29T17:37:40Z"
    conversion.fairlead.io/v1beta1-fields: '[` +
				`{"path":"/status/conditions/type=PreRecreateGrace/lastTransitionTime","value":"2026-11-29T19:37:40+02:00","was":"#"},` +
				`{"path":"/metadata/annotations/crr.apps.kruise.io~1sync-container-statuses","value":"[{\"name\":\"old\"}]"},` +
				`{"path":"/metadata/annotations/crr.apps.kruise.io~1unready-acquired","value":"2020-01-01T00:00:00Z"}]'
status: {}`,
		},
		{
			"stale annotations are not shown without a status either",
			`{metadata: {annotations: {crr.apps.kruise.io/unready-acquired: "2020-01-01T00:00:00Z"}}, spec: {podName: web}}`,
			`
metadata:
  annotations:
    conversion.fairlead.io/v1beta1-fields: '[{"path":"/metadata/annotations/crr.apps.kruise.io~1unready-acquired","value":"2020-01-01T00:00:00Z"}]'
spec: {podName: web}`,
		},
	})
}

func TestDroppedAnnotationsAreNoted(t *testing.T) {
	converted, err := Convert(object(t, "apps.kruise.io/v1alpha1", "ContainerRecreateRequest",
		`{metadata: {annotations: {crr.apps.kruise.io/unready-acquired: yesterday}}}`), "apps.kruise.io/v1beta1")
	want := "metadata.annotations[crr.apps.kruise.io/unready-acquired]: dropped, it is no RFC 3339 time"
	if err != nil || len(converted.Notes) != 1 || converted.Notes[0] != want {
		t.Errorf("notes are %q, %v", converted.Notes, err)
	}
}

func TestDaemonSet(t *testing.T) {
	runExamples(t, "apps.kruise.io/DaemonSet", Beta, []example{
		{
			"the alias for surging, spelled out",
			`{metadata: {}, spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {rollingUpdateType: Surging}}}, status: {daemonSetHash: abc}}`,
			`
metadata: {}
spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {rollingUpdateType: Standard, maxSurge: 1, maxUnavailable: 0}}}
status: {updateRevision: abc}`,
		},
		{
			"but not over what is set", `{spec: {updateStrategy: {rollingUpdate: {rollingUpdateType: Surging, maxSurge: 20%, maxUnavailable: 2}}}}`,
			`{spec: {updateStrategy: {rollingUpdate: {rollingUpdateType: Standard, maxSurge: 20%, maxUnavailable: 2}}}}`,
		},
		{
			"partitioned scaling", `{metadata: {annotations: {daemonset.kruise.io/progressive-create-pod: "true"}}, spec: {}}`,
			`{metadata: {annotations: {daemonset.kruise.io/progressive-create-pod: "true"}}, spec: {scaleStrategy: {partitionedScaling: true}}}`,
		},
		{
			"no partitioned scaling", `{metadata: {annotations: {daemonset.kruise.io/progressive-create-pod: "yes"}}, spec: {}}`,
			`{metadata: {annotations: {daemonset.kruise.io/progressive-create-pod: "yes"}}, spec: {}}`,
		},
	})
	runExamples(t, "apps.kruise.io/DaemonSet", Alpha, []example{
		{
			"partitioned scaling, switched off by a client", `
metadata: {annotations: {daemonset.kruise.io/progressive-create-pod: "true"}}
spec: {scaleStrategy: {partitionedScaling: false}}
status: {updateRevision: abc}`,
			`
metadata:
  annotations:
    conversion.fairlead.io/v1beta1-fields: '[{"path":"/spec/scaleStrategy","value":{"partitionedScaling":false}},{"path":"/metadata/annotations/daemonset.kruise.io~1progressive-create-pod","value":"true"}]'
spec: {}
status: {daemonSetHash: abc}`,
		},
	})
}

func TestNodeImage(t *testing.T) {
	runExamples(t, "apps.kruise.io/NodeImage", Alpha, []example{{
		"how a Secret is used is kept by the Secret's name",
		`{metadata: {}, spec: {images: {a.test/b: {tags: [{tag: v1}], pullSecrets: [{namespace: ns, name: one}, {namespace: ns, name: two, mode: batch}]}}}}`,
		`
metadata:
  annotations:
    conversion.fairlead.io/v1beta1-fields: '[{"path":"/spec/images/a.test~1b/pullSecrets/namespace=ns,name=two/mode","value":"batch"}]'
spec: {images: {a.test/b: {tags: [{tag: v1}], pullSecrets: [{namespace: ns, name: one}, {namespace: ns, name: two}]}}}`,
	}})
}

func TestPersistentPodState(t *testing.T) {
	alpha := `
metadata: {}
spec:
  requiredPersistentTopology: {nodeTopologyKeys: [zone]}
  preferredPersistentTopology: [{weight: 1, preference: {nodeTopologyKeys: [host]}}, {weight: 2, preference: {}}]`
	beta := `
metadata: {}
spec:
  requiredPersistentTopology: {keys: [zone]}
  preferredPersistentTopology: [{weight: 1, preference: {keys: [host]}}, {weight: 2, preference: {}}]`
	runExamples(t, "apps.kruise.io/PersistentPodState", Beta, []example{{"names", alpha, beta}})
	runExamples(t, "apps.kruise.io/PersistentPodState", Alpha, []example{{"names", beta, alpha}})
}

func TestPodUnavailableBudget(t *testing.T) {
	runExamples(t, "policy.kruise.io/PodUnavailableBudget", Beta, []example{{
		"annotations become fields, and stay",
		`{metadata: {annotations: {kruise.io/pub-protect-operations: "DELETE, ,EVICT", pub.kruise.io/protect-total-replicas: " 10 "}}, spec: {maxUnavailable: 1}}`,
		`
metadata: {annotations: {kruise.io/pub-protect-operations: "DELETE, ,EVICT", pub.kruise.io/protect-total-replicas: " 10 "}}
spec: {maxUnavailable: 1, protectOperations: [DELETE, EVICT], protectTotalReplicas: 10}`,
	}, {
		"what nobody understands in annotations stays in them",
		`{metadata: {annotations: {kruise.io/pub-protect-operations: "DELETE, PATCH", pub.kruise.io/protect-total-replicas: "many"}}, spec: {maxUnavailable: 1}}`,
		`
metadata: {annotations: {kruise.io/pub-protect-operations: "DELETE, PATCH", pub.kruise.io/protect-total-replicas: "many"}}
spec: {maxUnavailable: 1, protectOperations: [DELETE]}`,
	}, {
		"also where that is all that they say",
		`{metadata: {annotations: {kruise.io/pub-protect-operations: "NO", pub.kruise.io/protect-total-replicas: "3000000000"}}, spec: {maxUnavailable: 1}}`,
		`
metadata: {annotations: {kruise.io/pub-protect-operations: "NO", pub.kruise.io/protect-total-replicas: "3000000000"}}
spec: {maxUnavailable: 1}`,
	}})
	runExamples(t, "policy.kruise.io/PodUnavailableBudget", Alpha, []example{
		{
			"fields become annotations, unless those say the same",
			`
metadata: {annotations: {kruise.io/pub-protect-operations: "DELETE, EVICT", pub.kruise.io/protect-total-replicas: "10"}}
spec: {protectOperations: [DELETE, EVICT], protectTotalReplicas: 12}`,
			`
metadata:
  annotations:
    kruise.io/pub-protect-operations: "DELETE, EVICT"
    pub.kruise.io/protect-total-replicas: "12"
    conversion.fairlead.io/v1beta1-fields: '[{"path":"/metadata/annotations/pub.kruise.io~1protect-total-replicas","value":"10","was":"#"}]'
spec: {}`,
		},
		{
			"fields that are unset are no annotations, and a selector is kept",
			`{metadata: {annotations: {pub.kruise.io/protect-total-replicas: "10"}}, spec: {ignoredPodSelector: {matchLabels: {a: b}}}}`,
			`
metadata:
  annotations:
    conversion.fairlead.io/v1beta1-fields: '[{"path":"/spec/ignoredPodSelector","value":{"matchLabels":{"a":"b"}}},{"path":"/metadata/annotations/pub.kruise.io~1protect-total-replicas","value":"10"}]'
spec: {}`,
		},
		{
			"an operation that v1alpha1 does not know can still be read", `{metadata: {}, spec: {protectOperations: [PATCH]}}`,
			`
metadata:
  annotations:
    kruise.io/pub-protect-operations: PATCH
    conversion.fairlead.io/v1beta1-fields: '[{"path":"/spec/protectOperations","value":["PATCH"]},{"path":"/metadata/annotations/kruise.io~1pub-protect-operations","was":"#"}]'
spec: {}`,
		},
		{
			"a field that says something else wins over an annotation that nobody understands",
			`{metadata: {annotations: {kruise.io/pub-protect-operations: "NO", pub.kruise.io/protect-total-replicas: "many"}}, spec: {protectOperations: [EVICT], protectTotalReplicas: 3}}`,
			`
metadata:
  annotations:
    kruise.io/pub-protect-operations: EVICT
    pub.kruise.io/protect-total-replicas: "3"
    conversion.fairlead.io/v1beta1-fields: '[{"path":"/metadata/annotations/kruise.io~1pub-protect-operations","value":"NO","was":"#"},{"path":"/metadata/annotations/pub.kruise.io~1protect-total-replicas","value":"many","was":"#"}]'
spec: {}`,
		},
	})
}

func TestResourceDistribution(t *testing.T) {
	alpha := `
metadata: {}
spec: {resource: {kind: Secret, data: {a: Yg==}}, targets: {namespaceLabelSelector: {matchLabels: {a: b}}}}
status: {conditions: [{type: ConflictOccurred, failedNamespace: [x]}, {type: NamespaceNotExists}]}`
	beta := `
metadata: {}
spec: {resource: {kind: Secret, data: {a: Yg==}}, targets: {namespaceSelector: {matchLabels: {a: b}}}}
status: {conditions: [{type: ConflictOccurred, failedNamespaces: [x]}, {type: NamespaceNotExists}]}`
	runExamples(t, "apps.kruise.io/ResourceDistribution", Beta, []example{{"names", alpha, beta}})
	runExamples(t, "apps.kruise.io/ResourceDistribution", Alpha, []example{{"names", beta, alpha}})
}

func TestSidecarSet(t *testing.T) {
	runExamples(t, "apps.kruise.io/SidecarSet", Beta, []example{
		{
			"a namespace wins over a selector",
			`
metadata: {annotations: {kruise.io/sidecarset-hash: h}}
spec: {namespace: shop, namespaceSelector: {matchLabels: {a: b}}, containers: [{name: c, newerField: 1.50}]}`,
			`
metadata: {annotations: {kruise.io/sidecarset-hash: h}}
spec: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}, containers: [{name: c, newerField: 1.50}]}`,
		},
		{
			"the version's label moves", `{metadata: {labels: {apps.kruise.io/sidecarset-custom-version: v1, a: b}}, spec: {namespace: ""}}`,
			`{metadata: {labels: {a: b}}, spec: {customVersion: v1}}`,
		},
		{"and takes the last label with it", `{metadata: {labels: {apps.kruise.io/sidecarset-custom-version: v1}}, spec: {}}`, `{metadata: {}, spec: {customVersion: v1}}`},
	})
	runExamples(t, "apps.kruise.io/SidecarSet", Alpha, []example{
		{
			"the namespace reads back as a selector, the version as a label",
			`{metadata: {}, spec: {customVersion: v1, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}}`,
			`
metadata: {labels: {apps.kruise.io/sidecarset-custom-version: v1}}
spec: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}`,
		},
		{
			"namespace is never shown as the field", `{metadata: {}, spec: {namespace: shop}}`,
			`{metadata: {annotations: {conversion.fairlead.io/v1beta1-fields: '[{"path":"/spec/namespace","value":"shop"}]'}}, spec: {}}`,
		},
		{
			"a version that cannot be a label is kept", `{metadata: {}, spec: {customVersion: "v 1"}}`,
			`{metadata: {annotations: {conversion.fairlead.io/v1beta1-fields: '[{"path":"/spec/customVersion","value":"v 1","with":"#"}]'}}, spec: {}}`,
		},
	})
}

func TestUnitedDeployment(t *testing.T) {
	runExamples(t, "apps.kruise.io/UnitedDeployment", Beta, []example{
		{
			"the maps go into the list, which gets what it lacks",
			`
metadata: {}
status:
  subsetReplicas: {a: 3, b: 0, c: 2}
  subsetStatuses: [{name: a, replicas: 1, readyReplicas: 1}, {name: b}]
  updateStatus: {updatedRevision: r2, currentPartitions: {a: 1, b: 0}}`,
			`
metadata:
  annotations:
    conversion.fairlead.io/v1alpha1-fields: '[{"path":"/status/subsetStatuses","value":[{"name":"a","readyReplicas":1,"replicas":1},{"name":"b"}],"was":"#"},{"path":"/status/updateStatus/currentPartitions/c","was":"#"}]'
status:
  updatedRevision: r2
  subsetStatuses: [{name: a, replicas: 3, readyReplicas: 1, partition: 1}, {name: b}, {name: c, replicas: 2}]`,
		},
	})
	runExamples(t, "apps.kruise.io/UnitedDeployment", Alpha, []example{
		{
			"the list is repeated in the maps",
			`{metadata: {}, status: {replicas: 3, updatedRevision: r2, subsetStatuses: [{name: a, replicas: 3, partition: 1}, {name: b}]}}`,
			`
metadata: {}
status:
  replicas: 3
  subsetReplicas: {a: 3, b: 0}
  subsetStatuses: [{name: a, replicas: 3, partition: 1}, {name: b}]
  updateStatus: {updatedRevision: r2, currentPartitions: {a: 1, b: 0}}`,
		},
		{"an update that nobody has begun", `{metadata: {}, status: {replicas: 0}}`, `{metadata: {}, status: {replicas: 0}}`},
	})
}

func TestWorkloadSpread(t *testing.T) {
	runExamples(t, "apps.kruise.io/WorkloadSpread", Beta, []example{{
		"names, and what conditions must have",
		`
metadata: {}
spec: {subsets: [{name: a, requiredNodeSelectorTerm: {x: 1}, preferredNodeSelectorTerms: [{weight: 1}], patch: {newer: field}}]}
status:
  subsetStatuses: [{name: a, conditions: [{type: Schedulable, status: "True"}]}]
  versionedSubsetStatuses: {v: [{name: a, conditions: [{type: Schedulable, status: "False", reason: Full, message: m, lastTransitionTime: "2026-11-29T17:37:40Z"}]}]}`,
		`
metadata: {}
spec: {subsets: [{name: a, requiredNodeSelector: {x: 1}, preferredNodeSelector: [{weight: 1}], patch: {newer: field}}]}
status:
  subsetStatuses: [{name: a, conditions: [{type: Schedulable, status: "True", reason: Unknown, message: "", lastTransitionTime: "1970-01-01T00:00:00Z"}]}]
  versionedSubsetStatuses: {v: [{name: a, conditions: [{type: Schedulable, status: "False", reason: Full, message: m, lastTransitionTime: "2026-11-29T17:37:40Z"}]}]}`,
	}})
	runExamples(t, "apps.kruise.io/WorkloadSpread", Alpha, []example{{
		"names, and a generation that is kept",
		`
metadata: {}
spec: {subsets: [{name: a, requiredNodeSelector: {x: 1}}]}
status: {subsetStatuses: [{name: a, conditions: [{type: Schedulable, status: "True", reason: R, message: "", lastTransitionTime: "2026-11-29T17:37:40Z", observedGeneration: 4}]}]}`,
		`
metadata:
  annotations:
    conversion.fairlead.io/v1beta1-fields: '[{"path":"/status/subsetStatuses/name=a/conditions/type=Schedulable/observedGeneration","value":4}]'
spec: {subsets: [{name: a, requiredNodeSelectorTerm: {x: 1}}]}
status: {subsetStatuses: [{name: a, conditions: [{type: Schedulable, status: "True", reason: R, lastTransitionTime: "2026-11-29T17:37:40Z"}]}]}`,
	}})
}

func TestKindsWhoseVersionsAreTheSame(t *testing.T) {
	for _, kind := range []string{"BroadcastJob", "ImagePullJob", "ImageListPullJob"} {
		text := `{metadata: {annotations: {a: b}}, spec: {template: {x: 1.0}, mode: batch}, status: {y: null}}`
		runExamples(t, "apps.kruise.io/"+kind, Beta, []example{{kind, text, text}})
		runExamples(t, "apps.kruise.io/"+kind, Alpha, []example{{kind, text, text}})
	}
}
