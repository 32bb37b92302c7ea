package doctor

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiconversion "github.com/fairlead-io/fairlead/api/conversion"
	"github.com/fairlead-io/fairlead/webhook/conversion"
	"github.com/fairlead-io/fairlead/webhook/registration"
)

const chartCure = "helm upgrade kruise charts/kruise"

func checkDefinitions(ctx context.Context, d *Doctor, r *report) error {
	d.judgeReplicas(r, "objects are not converted", unconverted())
	for _, resource := range apiconversion.Resources() {
		object := "CustomResourceDefinition " + resource.Definition()
		crd, err := d.definitions.Get(ctx, resource.Definition(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			r.add(Error, object, "it does not exist", "there are no objects of kind "+resource.Kind, chartCure)
			continue
		}
		if err != nil {
			return err
		}
		d.judgeDefinition(r, object, crd, resource.Differs)
	}
	return nil
}

// unconverted says what does not work without conversion. Of kinds whose versions are alike the API server converts by itself.
func unconverted() string {
	var differ []string
	for _, resource := range apiconversion.Resources() {
		if resource.Differs {
			differ = append(differ, resource.Kind)
		}
	}
	return "requests in v1alpha1 fail of kinds whose versions differ (" + strings.Join(differ, ", ") + "), and so do all of their objects that are stored in it"
}

func (d *Doctor) judgeDefinition(r *report, object string, crd *apiextensionsv1.CustomResourceDefinition, differs bool) {
	if !established(crd) {
		r.add(Error, object, "the API server has not established it", "its objects cannot be asked for", "kubectl describe crd "+crd.Name)
	}
	for _, version := range []string{apiconversion.Alpha, apiconversion.Beta} {
		if !slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version && v.Served }) {
			r.add(Error, object, version+" is not served", "manifests and clients of that version do not work", chartCure)
		}
	}
	stored := crd.Status.StoredVersions
	if !slices.Equal(stored, []string{apiconversion.Beta}) {
		r.add(Warning, object, "objects may be stored as "+strings.Join(stored, ", "),
			"reading those needs the admission service; kruise-controller-manager stores them anew as "+apiconversion.Beta,
			fmt.Sprintf("kubectl -n %s logs deploy/%s | grep -i stored; it takes minutes", d.config.Namespace, managerDeployment))
	}
	if !differs {
		return
	}
	if drift := registration.ConversionDrift(d.config, conversionService, conversion.Path, crd); len(drift) > 0 {
		r.add(Error, object, "its conversion does not lead to "+conversionService+" ("+strings.Join(drift, ", ")+")",
			"requests in the other version fail, or lose fields", d.registerCure())
	}
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// checkDefinitionBundles looks whether every definition that converts by us trusts the CA.
func (d *Doctor) checkDefinitionBundles(ctx context.Context, r *report, authority *x509.Certificate) error {
	for _, resource := range apiconversion.Resources() {
		if !resource.Differs {
			continue
		}
		crd, err := d.definitions.Get(ctx, resource.Definition(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		if len(registration.ConversionDrift(d.config, conversionService, conversion.Path, crd)) > 0 {
			continue // it leads elsewhere, as another check says
		}
		if !trusts(crd.Spec.Conversion.Webhook.ClientConfig.CABundle, authority) {
			r.add(Error, "CustomResourceDefinition "+crd.Name, "caBundle of its conversion lacks the CA of the service", "requests in the other version fail", d.bundleCure())
		}
	}
	return nil
}
