package registration

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
)

// A bundle is the service's own, or an injector's such as cert-manager's, which an annotation asks to write it. Whoever
// writes it, at each moment it must have the CA of every certificate that is being served, also while an installation is
// switched from one to the other, when replicas of both modes serve:
//
//   - toward the injector, our leader adds the CA that will be injected to what is there, and gives up the field. Replicas
//     follow, each serving what clients trust. Only when the last one does is the injector asked to act.
//   - back, our leader takes the field over and the annotation away, and keeps the injected CA in the bundle until the last
//     replica serves a certificate of our own CA.

// injectionKeys are the annotations by which cert-manager is asked to write a bundle.
var injectionKeys = []string{
	"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret", "cert-manager.io/inject-apiserver-ca",
}

// bundleFor is what we write where there is a bundle now, nil for leaving it alone. held says that we own what is there;
// what we own and then leave out the API server would take away. proven says that no replica needs the others' CA any more.
func (w wanted) bundleFor(live []byte, held, proven bool) []byte {
	switch {
	case w.bundle == nil:
		return nil
	case !w.injected && w.handingOver(live) && !proven:
		return join(w.bundle, w.others)
	case !w.injected:
		return w.bundle
	case !holds(live, w.bundle):
		return join(w.bundle, live)
	case held:
		return live
	default:
		return nil
	}
}

// handingOver says whether a bundle of ours still has the CA of the mode before.
func (w wanted) handingOver(live []byte) bool {
	return !w.injected && len(w.others) > 0 && !holds(w.bundle, w.others) && holds(live, w.others)
}

// annotationsFor are the annotations that ask for injection, if it is time.
func (w wanted) annotationsFor(live map[string]string, proven bool) map[string]string {
	if w.injected && (proven || w.asked(live)) {
		return w.inject
	}
	return nil
}

// asked says whether the annotations already ask for the injection that is wanted.
func (w wanted) asked(live map[string]string) bool {
	for key, value := range w.inject {
		if live[key] != value {
			return false
		}
	}
	return true
}

// unwantedIn lists annotations that ask for an injection that would undo what we write.
func (w wanted) unwantedIn(live map[string]string) []string {
	if w.injected {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(injectionKeys), func(key string) bool { _, there := live[key]; return !there })
}

// holds says whether a PEM bundle has all certificates of another.
func holds(bundle, wanted []byte) bool {
	if bytes.Equal(bundle, wanted) {
		return true
	}
	authorities, err := cert.ParseCertsPEM(wanted)
	return err == nil && !slices.ContainsFunc(authorities, func(authority *x509.Certificate) bool { return !contains(bundle, authority) })
}

// join is a bundle with what another has beside it. What cannot be read is left out.
func join(bundle, other []byte) []byte {
	joined := bytes.Clone(bundle)
	authorities, _ := cert.ParseCertsPEM(other)
	for _, authority := range authorities {
		if contains(joined, authority) {
			continue
		}
		if encoded, err := cert.EncodeCertificates(authority); err == nil {
			joined = append(append(bytes.TrimRight(joined, "\n"), '\n'), encoded...)
		}
	}
	return joined
}

// bundleField is how managedFields name caBundle.
const bundleField = "f:caBundle"

// holdsBundle says whether we own a bundle in an object with these managed fields.
func holdsBundle(fields []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(fields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == fieldManager && entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"`+bundleField+`"`)
	})
}

// yieldPatch is a JSON patch by which we own no bundle any more, and the bundle stays as it is: an apply without the field
// would remove it. It fails if the object has changed.
func yieldPatch(fields []metav1.ManagedFieldsEntry, version string) ([]byte, error) {
	kept := make([]metav1.ManagedFieldsEntry, 0, len(fields))
	for _, entry := range fields {
		if entry.Manager == fieldManager && entry.FieldsV1 != nil {
			var owned map[string]any
			if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned); err != nil {
				return nil, fmt.Errorf("reading our managed fields: %w", err)
			}
			dropField(owned, bundleField)
			raw, err := json.Marshal(owned)
			if err != nil {
				return nil, fmt.Errorf("writing our managed fields: %w", err)
			}
			entry.FieldsV1 = metav1.NewFieldsV1(string(raw))
		}
		kept = append(kept, entry)
	}
	return json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": kept},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": version},
	})
}

// dropField removes a field wherever it is, and what is empty then: an empty map would say that all below is owned.
func dropField(fields map[string]any, name string) {
	for key, value := range fields {
		below, _ := value.(map[string]any)
		if key == name {
			delete(fields, key)
			continue
		}
		if len(below) == 0 {
			continue
		}
		if dropField(below, name); len(below) == 0 {
			delete(fields, key)
		}
	}
}
