package conversion

import (
	"strings"
	"testing"
)

func TestCloneSet(t *testing.T) {
	runExamples(t, "apps.kruise.io/CloneSet", Beta, []example{
		{
			"what an older client writes",
			`
metadata:
  labels: {apps.kruise.io/cloneset-scaling-exclude-preparing-delete: "true"}
  annotations:
    apps.kruise.io/image-predownload-parallelism: "5"
    apps.kruise.io/image-predownload-timeout-seconds: "900"
    apps.kruise.io/image-predownload-min-updated-ready-pods: "20%"
spec:
  replicas: 0
  scaleStrategy: {disablePVCReuse: true, podsToDelete: [pool-a]}
  updateStrategy: {type: InPlaceIfPossible, maxUnavailable: 33%, partition: 10%, inPlaceUpdateStrategy: {gracePeriodSeconds: 3}}
  template: {spec: {newerField: {x: 1}}}`,
			`
metadata:
  labels: {apps.kruise.io/cloneset-scaling-exclude-preparing-delete: "true"}
  annotations:
    apps.kruise.io/image-predownload-parallelism: "5"
    apps.kruise.io/image-predownload-timeout-seconds: "900"
    apps.kruise.io/image-predownload-min-updated-ready-pods: "20%"
spec:
  replicas: 0
  scaleStrategy: {enablePVCReuse: false, excludePreparingDelete: true, podsToDelete: [pool-a]}
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      podUpdatePolicy: InPlaceIfPossible
      maxUnavailable: 33%
      partition: 10%
      inPlaceUpdateStrategy: {gracePeriodSeconds: 3, imagePreDownloadParallelism: 5, imagePreDownloadTimeoutSeconds: 900}
  template: {spec: {newerField: {x: 1}}}`,
		},
		{
			"claims are reused unless that is switched off, and Pods recreated", `{spec: {}}`,
			`{spec: {scaleStrategy: {enablePVCReuse: true}, updateStrategy: {type: RollingUpdate, rollingUpdate: {podUpdatePolicy: ReCreate}}}}`,
		},
		{
			"a percentage for the parallelism, and numbers that are none",
			`
metadata:
  annotations:
    apps.kruise.io/image-predownload-parallelism: "50%"
    apps.kruise.io/image-predownload-timeout-seconds: "3000000000"
    apps.kruise.io/image-predownload-min-updated-ready-pods: "0x1"
spec: {updateStrategy: {type: InPlaceOnly}}`,
			`
metadata:
  annotations:
    apps.kruise.io/image-predownload-parallelism: "50%"
    apps.kruise.io/image-predownload-timeout-seconds: "3000000000"
    apps.kruise.io/image-predownload-min-updated-ready-pods: "0x1"
spec:
  scaleStrategy: {enablePVCReuse: true}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {podUpdatePolicy: InPlaceOnly, inPlaceUpdateStrategy: {imagePreDownloadParallelism: 50%}}}`,
		},
		{
			"numbers for pre-download where only annotations count, and a label that is not true",
			`
metadata: {labels: {apps.kruise.io/cloneset-scaling-exclude-preparing-delete: "yes"}}
spec: {updateStrategy: {type: InPlaceOnly, inPlaceUpdateStrategy: {gracePeriodSeconds: 3, imagePreDownloadParallelism: 9}}}`,
			`
metadata:
  labels: {apps.kruise.io/cloneset-scaling-exclude-preparing-delete: "yes"}
  annotations:
    conversion.fairlead.io/v1alpha1-fields: '[{"path":"/spec/updateStrategy/inPlaceUpdateStrategy/imagePreDownloadParallelism","value":9,"with":"#"}]'
spec:
  scaleStrategy: {enablePVCReuse: true}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {podUpdatePolicy: InPlaceOnly, inPlaceUpdateStrategy: {gracePeriodSeconds: 3}}}`,
		},
		{
			"what says nothing is not kept",
			`{spec: {scaleStrategy: {disablePVCReuse: false}, updateStrategy: {type: InPlaceOnly, inPlaceUpdateStrategy: {gracePeriodSeconds: 0}}}}`,
			`
spec:
  scaleStrategy: {enablePVCReuse: true}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {podUpdatePolicy: InPlaceOnly, inPlaceUpdateStrategy: {gracePeriodSeconds: 0}}}`,
		},
		{
			"a type that nobody knows recreates, and is kept", `{metadata: {}, spec: {updateStrategy: {type: Sideways}}}`,
			`
metadata:
  annotations:
    conversion.fairlead.io/v1alpha1-fields: '[{"path":"/spec/updateStrategy/type","value":"Sideways","was":"#","with":"#"}]'
spec: {scaleStrategy: {enablePVCReuse: true}, updateStrategy: {type: RollingUpdate, rollingUpdate: {podUpdatePolicy: ReCreate}}}`,
		},
	})
	runExamples(t, "apps.kruise.io/CloneSet", Alpha, []example{
		{
			"what a client writes that does not know the older version",
			`
metadata: {}
spec:
  scaleStrategy: {enablePVCReuse: true, excludePreparingDelete: true}
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      podUpdatePolicy: InPlaceOnly
      partition: 2
      maxSurge: 25%
      paused: true
      scatterStrategy: [{key: a, value: b}]
      priorityStrategy: {orderPriority: [{orderedKey: k}]}
      inPlaceUpdateStrategy: {imagePreDownloadParallelism: 7, imagePreDownloadTimeoutSeconds: 60, imagePreDownloadMinUpdatedReadyPods: 1}
status: {replicas: 3}`,
			`
metadata:
  labels: {apps.kruise.io/cloneset-scaling-exclude-preparing-delete: "true"}
  annotations:
    apps.kruise.io/image-predownload-parallelism: "7"
    apps.kruise.io/image-predownload-timeout-seconds: "60"
    apps.kruise.io/image-predownload-min-updated-ready-pods: "1"
    conversion.fairlead.io/v1beta1-fields: '[{"path":"/metadata/labels/apps.kruise.io~1cloneset-scaling-exclude-preparing-delete","was":"#"},{"path":"/metadata/annotations/apps.kruise.io~1image-predownload-min-updated-ready-pods","was":"#"},{"path":"/metadata/annotations/apps.kruise.io~1image-predownload-parallelism","was":"#"},{"path":"/metadata/annotations/apps.kruise.io~1image-predownload-timeout-seconds","was":"#"}]'
spec:
  updateStrategy:
    type: InPlaceOnly
    partition: 2
    maxSurge: 25%
    paused: true
    scatterStrategy: [{key: a, value: b}]
    priorityStrategy: {orderPriority: [{orderedKey: k}]}
status: {replicas: 3}`,
		},
		{
			"an annotation that says the same keeps its spelling",
			`
metadata: {annotations: {apps.kruise.io/image-predownload-parallelism: "05"}}
spec:
  scaleStrategy: {enablePVCReuse: true}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {podUpdatePolicy: InPlaceOnly, inPlaceUpdateStrategy: {imagePreDownloadParallelism: 5}}}`,
			`
metadata: {annotations: {apps.kruise.io/image-predownload-parallelism: "05"}}
spec: {updateStrategy: {type: InPlaceOnly}}`,
		},
		{
			"a policy that is left out recreates, and an empty strategy in place is none",
			`
metadata: {}
spec:
  scaleStrategy: {enablePVCReuse: true}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1, inPlaceUpdateStrategy: {gracePeriodSeconds: 0}}}`,
			`
metadata:
  annotations:
    conversion.fairlead.io/v1beta1-fields: '[{"path":"/spec/updateStrategy/rollingUpdate/inPlaceUpdateStrategy","value":{"gracePeriodSeconds":0},"with":"#"},{"path":"/spec/updateStrategy/rollingUpdate/podUpdatePolicy","was":"#","with":"#"}]'
spec: {updateStrategy: {type: ReCreate, partition: 1}}`,
		},
	})
}

func nothing(object string) string { return object }

// TestCloneSetOnDelete: a strategy that does nothing under OnDelete is in neither version's way, and not lost.
func TestCloneSetOnDelete(t *testing.T) {
	alpha, beta := "apps.kruise.io/v1alpha1", "apps.kruise.io/v1beta1"
	written := object(t, alpha, "CloneSet", `{metadata: {}, spec: {updateStrategy: {type: OnDelete, partition: 5}}}`)
	if got := through(t, written, nothing, beta); strings.Contains(got, "rollingUpdate") {
		t.Errorf("v1beta1 rolls: %s", got)
	}
	if got := through(t, written, nothing, beta, alpha); !strings.Contains(got, `"partition":5`) {
		t.Errorf("v1alpha1 lost the partition: %s", got)
	}
	edit := func(object string) string {
		return strings.Replace(object, `{"type":"OnDelete"}`, `{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"InPlaceOnly"}}`, 1)
	}
	sameYAML(t, alpha, "CloneSet", `{metadata: {}, spec: {updateStrategy: {type: InPlaceOnly}}}`, plainText(t, through(t, written, edit, beta, alpha)))

	native := object(t, beta, "CloneSet", `
metadata: {}
spec: {scaleStrategy: {enablePVCReuse: true}, updateStrategy: {type: OnDelete, rollingUpdate: {podUpdatePolicy: InPlaceOnly, partition: 5}}}`)
	if got := through(t, native, nothing, alpha); !strings.Contains(got, `"partition":5`) || !strings.Contains(got, `"type":"OnDelete"`) {
		t.Errorf("v1alpha1 reads %s", got)
	}
	edit = func(object string) string { return strings.Replace(object, `"partition":5`, `"partition":6`, 1) }
	if got := through(t, native, edit, alpha, beta); strings.Contains(got, `"partition":5`) {
		t.Errorf("the old partition is back over a client's new one: %s", got)
	}
}

// TestCloneSetLabelAndAnnotationsFollowTheFields when a v1beta1 client changes those.
func TestCloneSetLabelAndAnnotationsFollowTheFields(t *testing.T) {
	alpha, beta := "apps.kruise.io/v1alpha1", "apps.kruise.io/v1beta1"
	written := object(t, alpha, "CloneSet", `
metadata:
  labels: {apps.kruise.io/cloneset-scaling-exclude-preparing-delete: "true"}
  annotations: {apps.kruise.io/image-predownload-parallelism: "5"}
spec: {updateStrategy: {type: InPlaceOnly}}`)
	edit := func(object string) string {
		object = strings.Replace(object, `"excludePreparingDelete":true`, `"excludePreparingDelete":false`, 1)
		return strings.Replace(object, `"imagePreDownloadParallelism":5`, `"imagePreDownloadParallelism":"10%"`, 1)
	}
	sameYAML(t, alpha, "CloneSet", `
metadata:
  annotations: {apps.kruise.io/image-predownload-parallelism: "10%"}
spec: {updateStrategy: {type: InPlaceOnly}}`, plainText(t, through(t, written, edit, beta, alpha)))
}
