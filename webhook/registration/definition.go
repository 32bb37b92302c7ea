package registration

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/webhook/table"
)

// reviewVersions are the versions of ConversionReview that definitions ask for: every supported API server has v1.
var reviewVersions = []string{"v1"}

// definition is what a CustomResourceDefinition says about conversion.
type definition struct {
	name    string
	uid     types.UID
	version string
	// conversion is never nil.
	conversion *apiextensionsv1.CustomResourceConversion
	// storage is the version that objects are written in, and stored are those that some may still be in.
	storage string
	stored  []string

	annotations map[string]string
	fields      []metav1.ManagedFieldsEntry
}

func readDefinition(crd *apiextensionsv1.CustomResourceDefinition) definition {
	d := definition{
		name: crd.Name, uid: crd.UID, version: crd.ResourceVersion, conversion: crd.Spec.Conversion, stored: crd.Status.StoredVersions,
		annotations: crd.Annotations, fields: crd.ManagedFields,
	}
	if d.conversion == nil {
		d.conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			d.storage = version.Name
		}
	}
	return d
}

// client is how the definition has objects converted; nil if the API server does that alone.
func (d definition) client() *apiextensionsv1.WebhookClientConfig {
	if d.conversion.Strategy != apiextensionsv1.WebhookConverter || d.conversion.Webhook == nil {
		return nil
	}
	return d.conversion.Webhook.ClientConfig
}

// converting is where the API server shall reach conversion.
type converting struct {
	client apiextensionsv1.WebhookClientConfig
	// injected says that somebody else writes caBundle; the client then has none.
	injected bool
	// annotations are to be there, and unwanted ones not.
	annotations map[string]string
	unwanted    []string
	// yields says that we own the live bundle and should not.
	yields bool
}

func newConverting(config table.Config, service, path string, bundle []byte, injected bool) converting {
	c := converting{client: apiextensionsv1.WebhookClientConfig{CABundle: bundle}, injected: injected}
	if config.Host != "" {
		c.client.URL = ptr.To("https://" + config.Host + path)
		return c
	}
	c.client.Service = &apiextensionsv1.ServiceReference{
		Namespace: config.Namespace, Name: service, Path: ptr.To(path), Port: ptr.To(config.Port),
	}
	return c
}

// certified fills in what a definition shall say about CAs.
func (c converting) certified(w wanted, d definition, proven bool) converting {
	held := holdsBundle(d.fields)
	c.client.CABundle = w.bundleFor(c.trustedBy(d), held, proven)
	c.injected = w.bundle != nil && c.client.CABundle == nil
	c.annotations, c.unwanted = w.annotationsFor(d.annotations, proven), w.unwantedIn(d.annotations)
	c.yields = w.injected && held
	return c
}

// trustedBy is the bundle of a definition that leads to us.
func (c converting) trustedBy(d definition) []byte {
	if live := d.client(); c.reaches(live) {
		return live.CABundle
	}
	return nil
}

// needsProof says whether what a definition shall say depends on which certificates the replicas serve.
func (c converting) needsProof(w wanted, d definition) bool {
	if w.injected {
		return !w.asked(d.annotations)
	}
	return w.handingOver(c.trustedBy(d))
}

// reaches says whether a client leads to us, whatever the path.
func (c converting) reaches(client *apiextensionsv1.WebhookClientConfig) bool {
	switch {
	case client == nil:
		return false
	case c.client.URL != nil:
		host, _, _ := strings.Cut(strings.TrimPrefix(*c.client.URL, "https://"), "/")
		return client.URL != nil && strings.HasPrefix(*client.URL, "https://"+host+"/")
	default:
		return client.Service != nil && client.Service.Namespace == c.client.Service.Namespace && client.Service.Name == c.client.Service.Name
	}
}

// Beside leave, apply and rewrite, a definition can be released: the API server then converts alone.
const release verb = "release"

// planDefinition decides about a definition. anchored says that there is an anchor, and served that there is a replica
// to be reached.
//
// Without an anchor, a definition whose objects are all stored in its storage version keeps leading to the Service that
// has gone: requests in that version need no conversion, and those in another fail with an error that names the Service.
// If the API server converted alone, it would only swap the version and prune: a client of the old version, such as an
// autoscaler, would erase what it cannot see with its first write, and find its rollouts unpaused when the service is
// back. While some objects are stored in another version that is not so: without a converter they could not be listed,
// and their namespaces not be deleted, so there the definition is released.
func planDefinition(c converting, d definition, anchored, served bool) (v verb, differences []string) {
	live := d.client()
	ours := c.reaches(live)
	switch {
	case !anchored && ours && !slices.Equal(d.stored, []string{d.storage}):
		return release, []string{"the anchor is gone, and objects are stored as " + strings.Join(d.stored, ", ")}
	case !anchored, c.client.CABundle == nil && !c.injected, !ours && !served:
		return leave, nil
	}
	differences = c.differences(d)
	switch {
	case len(differences) == 0 && c.yields:
		return yield, []string{"the CA bundle is the injector's"}
	case len(differences) == 0:
		return leave, nil
	case len(c.unwanted) > 0, live != nil && (live.URL != nil) != (c.client.URL != nil):
		return rewrite, differences // an apply would leave the other way to reach somebody beside ours
	default:
		return apply, differences
	}
}

// differences names what in a definition is not as wanted.
func (c converting) differences(d definition) []string {
	live := d.client()
	if live == nil {
		return []string{"strategy"}
	}
	found := differentKeys("annotation", c.annotations, d.annotations)
	for _, key := range c.unwanted {
		found = append(found, "annotation "+key+" asks for another CA bundle")
	}
	wanted := c.client
	if c.injected {
		wanted.CABundle = live.CABundle
	}
	if !equality.Semantic.DeepEqual(wanted, *live) {
		found = append(found, "clientConfig")
	}
	if !slices.Equal(d.conversion.Webhook.ConversionReviewVersions, reviewVersions) {
		found = append(found, "conversionReviewVersions")
	}
	return found
}
