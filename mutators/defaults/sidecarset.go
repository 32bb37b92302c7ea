package defaults

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// Result is a SidecarSet with its defaults and its two hash annotations (sidecarset.md §2, §3.1).
type Result struct {
	// Object is the SidecarSet's JSON. Members that were sent keep their order, and values without a default below
	// them their bytes.
	Object jsontext.Value
	// Patch is the RFC 6902 document that makes the JSON as sent into Object; nil if nothing changes.
	Patch jsontext.Value
	// Hash and HashWithoutImage are what Object's annotations say.
	Hash, HashWithoutImage string
}

// sidecarSet has the defaults of both versions: they differ in fields that have none.
var sidecarSet = ensure("spec",
	ensure("updateStrategy",
		empty("type", "RollingUpdate"),
		unset("maxUnavailable", 1),
		unset("partition", 0),
	),
	unset("revisionHistoryLimit", 10),
	in("injectionStrategy", in("revision", empty("policy", "Always"))),
	each("patchPodMetadata", empty("patchPolicy", "Retain")),
	each("containers", sidecarContainer("BeforeAppContainer")...),
	each("initContainers", sidecarContainer("AfterAppContainer")...),
	each("volumes", volume...),
)

// sidecarContainer has the defaults of a SidecarContainer.
//
// Of the defaults that Kubernetes gives a container, two are left to the API server, which sets them in every Pod that
// the sidecar is injected into: the service of a gRPC probe and the optional flag of a fileKeyRef. They would enter the
// hash, and OpenKruise, whose hashes ours must equal, does not set them.
func sidecarContainer(injectPolicy string) []rule {
	return append([]rule{
		empty("podInjectPolicy", injectPolicy),
		ensure("upgradeStrategy", empty("upgradeType", "ColdUpgrade")),
		ensure("shareVolumePolicy", empty("type", "disabled")),
		each("transferEnv", in("sourceContainerNameFrom", in("fieldRef", fieldRef))),
		in("resourcesPolicy", unset("targetContainersNameRegex", ".*")),
	}, container...)
}

// SidecarSet defaults a SidecarSet of version v1alpha1 or v1beta1, given as JSON, and hashes it. What the types of the
// API cannot hold is refused with 400 and its path, as an admission.Refusal.
func SidecarSet(raw jsontext.Value) (Result, error) {
	top, err := jsontree.Parse(raw)
	if err != nil {
		return Result{}, undecodable(err)
	}
	result, err := defaultSidecarSet(top)
	if err != nil {
		return Result{}, undecodable(err)
	}
	return result, nil
}

func defaultSidecarSet(top *jsontree.Node) (Result, error) {
	if top.Kind() != jsontext.KindBeginObject {
		return Result{}, fmt.Errorf("expected an object, found %s", top.Kind())
	}
	sidecarSet(top)
	spellNamespace(top)
	spec, err := decodeSidecarSetSpec(top.Get("spec").Bytes())
	if err != nil {
		return Result{}, err
	}
	hash, withoutImage, err := HashSidecars(spec.Containers, spec.InitContainers)
	if err != nil {
		return Result{}, err
	}
	if err := annotate(top, v1beta1.SidecarSetHashAnnotation, hash); err != nil {
		return Result{}, err
	}
	if err := annotate(top, v1beta1.SidecarSetHashWithoutImageAnnotation, withoutImage); err != nil {
		return Result{}, err
	}
	return Result{Object: top.AppendTo(nil), Patch: top.Patch(), Hash: hash, HashWithoutImage: withoutImage}, nil
}

// spellNamespace spells the namespace of version v1alpha1 as it is stored and reads back (sidecarset.md §1.4): otherwise
// every apply of a manifest that has it would count as a change, and raise the generation. One that is no name, or beside
// another selector, is left for the rules to refuse.
func spellNamespace(top *jsontree.Node) {
	spec := top.Object("spec")
	if spec == nil || !strings.HasSuffix(top.TextOf("apiVersion"), "/v1alpha1") {
		return
	}
	name := spec.TextOf("namespace")
	if len(validation.IsDNS1123Label(name)) > 0 {
		return
	}
	wanted := append(jsontext.Value(`{"matchLabels":{"`+corev1.LabelMetadataName+`":`), jsontree.Quote(name)...)
	wanted = append(wanted, "}}"...)
	switch selector, same := spec.Get("namespaceSelector"), parsed(wanted); {
	case selector == nil:
		spec.Set("namespaceSelector", wanted)
	case !jsontree.Equal(selector, same):
		return
	}
	spec.Remove("namespace")
}

func parsed(raw jsontext.Value) *jsontree.Node {
	node, err := jsontree.Parse(raw)
	if err != nil {
		panic("defaults: a selector was just written: " + err.Error())
	}
	return node
}

// annotate gives the object an annotation, replacing another value that it has: hashes are ours, never the client's.
func annotate(object *jsontree.Node, key, value string) error {
	part, at := object, ""
	for _, name := range []string{"metadata", "annotations"} {
		ensure(name)(part)
		at += "." + name
		if part = part.Object(name); part == nil {
			return fmt.Errorf("%s: expected an object", at[1:])
		}
	}
	switch old := part.Get(key); {
	case old == nil:
		part.Put(jsontree.Add, key, jsontree.Quote(value))
	case old.Text() != value:
		part.Put(jsontree.Replace, key, jsontree.Quote(value))
	}
	return nil
}
