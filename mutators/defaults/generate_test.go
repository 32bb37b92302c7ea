package defaults

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// text generates JSON.
type text = *rapid.Generator[string]

// field is a member that an object may have; sometimes it is null, which means absent.
type field struct {
	name  string
	value text
}

// object generates objects that have some of the fields, and unknown members between them, in any order.
func object(fields ...field) text {
	return rapid.Custom(func(t *rapid.T) string {
		members := unknownMembers(t)
		for _, f := range fields {
			switch rapid.IntRange(0, 7).Draw(t, f.name) {
			case 0, 1, 2:
			case 3:
				members = append(members, fmt.Sprintf("%q:null", f.name))
			default:
				members = append(members, fmt.Sprintf("%q : %s", f.name, f.value.Draw(t, f.name)))
			}
		}
		return "{ " + strings.Join(rapid.Permutation(members).Draw(t, "order"), ",\n") + "}"
	})
}

// unknownMembers are fields that no type knows, some of them with a number that no float64 holds.
func unknownMembers(t *rapid.T) (members []string) {
	for i := range rapid.IntRange(0, 2).Draw(t, "unknown") {
		members = append(members, fmt.Sprintf(`"x-%d~/\u00fc":%s`, i, unknown.Draw(t, "unknown")))
	}
	return members
}

var unknown = oneOf(`9007199254740993`, `18446744073709551616`, `1.50`, `-0`, `1E400`, `"a\u003cb\/c"`, `[ ]`, `{ "n" : [9007199254740993, {"z":null}] }`)

func oneOf(values ...string) text { return rapid.SampledFrom(values) }

func list(element text) text {
	return rapid.Custom(func(t *rapid.T) string {
		return "[" + strings.Join(rapid.SliceOfN(element, 0, 3).Draw(t, "list"), " , ") + "]"
	})
}

var (
	number = oneOf(`0`, `1`, `7`, `2147483647`)
	word   = oneOf(`""`, `"a"`, `"File"`, `"v1"`)
	images = oneOf(`""`, `"nginx"`, `"a:1"`, `"registry.test:5000/a"`, `"a:latest"`, `"A"`)

	quantities = oneOf(`"1"`, `1`, `"1000m"`, `"0.5"`, `1.50`, `"1u"`, `"1.23456"`, `"1e-7"`, `"-1.00005Ki"`, `"12345678901234567890"`)
	resources  = object(field{"limits", resourceList}, field{"requests", resourceList})
	// resourceList has no unknown members, since every member is a quantity.
	resourceList = rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf(`{"cpu":%s, "memory":%s}`, quantities.Draw(t, "cpu"), quantities.Draw(t, "memory"))
	})

	fieldRefs = object(field{"fieldRef", object(field{"apiVersion", word}, field{"fieldPath", word})})
	handler   = field{"httpGet", object(field{"path", word}, field{"scheme", word}, field{"port", oneOf(`80`, `"http"`)})}
	grpc      = field{"grpc", object(field{"port", number}, field{"service", word})}
	probes    = object(handler, grpc, field{"timeoutSeconds", number}, field{"periodSeconds", number},
		field{"successThreshold", number}, field{"failureThreshold", number})

	containers = list(object(
		field{"name", word}, field{"image", images}, field{"imagePullPolicy", word}, field{"restartPolicy", oneOf(`"Always"`, `"Never"`)},
		field{"terminationMessagePath", word}, field{"terminationMessagePolicy", word}, field{"resources", resources},
		field{"ports", list(object(field{"protocol", word}, field{"containerPort", number}))},
		field{"env", list(object(field{"name", word}, field{"value", word}, field{"valueFrom", fieldRefs}))},
		field{"livenessProbe", probes}, field{"readinessProbe", probes}, field{"startupProbe", probes},
		field{"lifecycle", object(field{"preStop", object(handler)}, field{"postStart", object(handler)})},
		field{"podInjectPolicy", word}, field{"upgradeStrategy", object(field{"upgradeType", word}, field{"hotUpgradeEmptyImage", images})},
		field{"shareVolumePolicy", object(field{"type", word})}, field{"shareVolumeDevicePolicy", object(field{"type", word})},
		field{"transferEnv", list(object(field{"envName", word}, field{"sourceContainerNameFrom", fieldRefs}))},
		field{"resourcesPolicy", object(field{"targetContainersMode", word}, field{"targetContainersNameRegex", word})},
	))

	downward = field{"downwardAPI", object(field{"items", list(fieldRefs)}, field{"defaultMode", number})}
	sources  = list(object(downward, field{"serviceAccountToken", object(field{"expirationSeconds", number}, field{"path", word})}))
	claim    = object(field{"spec", object(field{"volumeMode", word}, field{"resources", resources})})
	volumes  = list(object(
		field{"name", word}, field{"emptyDir", object()}, field{"hostPath", object(field{"type", word})}, downward,
		field{"secret", object(field{"defaultMode", number})}, field{"projected", object(field{"sources", sources})},
		field{"ephemeral", object(field{"volumeClaimTemplate", claim})},
		field{"image", object(field{"reference", images}, field{"pullPolicy", word})},
		field{"azureDisk", object(field{"fsType", word}, field{"readOnly", oneOf(`true`, `false`)})},
		field{"rbd", object(field{"pool", word})}, field{"iscsi", object(field{"iscsiInterface", word})}, field{"scaleIO", object(field{"fsType", word})},
	))

	intOrPercent = oneOf(`0`, `3`, `"10%"`)
	spec         = object(
		field{"namespace", word}, field{"containers", containers}, field{"initContainers", containers}, field{"volumes", volumes},
		field{"updateStrategy", object(field{"type", word}, field{"maxUnavailable", intOrPercent}, field{"partition", intOrPercent})},
		field{"revisionHistoryLimit", number}, field{"patchPodMetadata", list(object(field{"patchPolicy", word}))},
		field{"injectionStrategy", object(field{"revision", object(field{"policy", word}, field{"revisionName", word})})},
	)

	annotations = rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf(`{"kruise.io/sidecarset-hash": %s, "a/b~c":"d"}`, oneOf(`"old"`, `null`, `""`).Draw(t, "hash"))
	})
	sidecarSets = object(field{"apiVersion", word}, field{"metadata", object(field{"name", word}, field{"annotations", annotations})}, field{"spec", spec})
)
