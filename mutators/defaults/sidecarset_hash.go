package defaults

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// HashSidecars is the hash of a SidecarSet's defaulted containers, which says what a rollout changes, and the same with
// every image blanked, which says whether it can be done in place (sidecarset.md §3.1). Init containers count only if
// one of them is a native sidecar.
//
// The hash is of the Go types' encoding and so blind to fields that they do not know, as OpenKruise's is: raw JSON
// would give another hash than the reference's for one object in two spellings, and running Pods would stop matching
// theirs at a takeover. A field that newer types know enters the hash of the SidecarSets that use it.
func HashSidecars(containers, initContainers []v1beta1.SidecarContainer) (hash, withoutImage string, err error) {
	if !slices.ContainsFunc(initContainers, isNative) {
		initContainers = nil
	}
	if hash, err = hashLists(containers, initContainers); err != nil {
		return "", "", err
	}
	withoutImage, err = hashLists(withoutImages(containers), withoutImages(initContainers))
	return hash, withoutImage, err
}

func isNative(c v1beta1.SidecarContainer) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// withoutImages copies the list: who gave it may share it.
func withoutImages(containers []v1beta1.SidecarContainer) []v1beta1.SidecarContainer {
	blank := slices.Clone(containers)
	for i := range blank {
		blank[i].Image = ""
	}
	return blank
}

// hashLists encodes with encoding/json, escapes for HTML and all, because its bytes are part of the contract.
func hashLists(containers, initContainers []v1beta1.SidecarContainer) (string, error) {
	input := map[string]any{"containers": containers}
	if initContainers != nil {
		input["initContainers"] = initContainers
	}
	encoded, err := json.Marshal(input)
	if err != nil {
		return "", fmt.Errorf("encoding containers for their hash: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return rand.SafeEncodeString(hex.EncodeToString(sum[:])), nil
}
