package defaults

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/validators/dryrun"
)

// place is where a kind has a Pod template.
type place struct {
	// path leads to the object that has the template as member "template", and perhaps "volumeClaimTemplates".
	path []string
	// ends says that the Pods end: without a restartPolicy they get OnFailure, since the default of Kubernetes, Always, is
	// refused for them (jobs.md §A3).
	ends bool
	// pulls says that containers without a pull policy get Always, whatever their tag, as OpenKruise does it. Init containers
	// have the default of Kubernetes.
	pulls bool
}

// in is the object that has the template; nil if there is none.
func (p place) in(top *jsontree.Node) *jsontree.Node {
	for _, name := range p.path {
		if top == nil {
			return nil
		}
		top = top.Object(name)
	}
	return top
}

// claimTemplate has the defaults of a claim template, which are few and the same in every version of Kubernetes.
var claimTemplate = []rule{
	in("spec", in("resources", roundUp("limits"), roundUp("requests"))),
	ensure("status", empty("phase", "Pending")),
}

// completeAll writes the defaults of all templates of an object that was not, or whose template changed. Warnings say which
// of them could not be found out.
func (d *Defaulter) completeAll(ctx context.Context, places []place, top, old *jsontree.Node) (warnings []string, err error) {
	if d.Gates.Enabled(features.TemplateNoDefaults) {
		for _, p := range places {
			if p.ends {
				p.restart(p.in(top))
			}
		}
		return nil, nil
	}
	for _, p := range places {
		owner := p.in(top)
		if owner == nil || owner.Object("template") == nil {
			continue
		}
		if before := p.in(old); before != nil && jsontree.Equal(before.Get("template"), owner.Get("template")) {
			continue
		}
		if err := d.complete(ctx, p, owner); err != nil {
			if ctx.Err() != nil { // it is the request that has no time left
				return nil, ctx.Err()
			}
			warnings = append(warnings, warning(strings.Join(p.path, ".")+".template has no defaults: "+err.Error()))
		}
	}
	return warnings, nil
}

// complete writes the defaults of a template and its claims.
func (d *Defaulter) complete(ctx context.Context, p place, owner *jsontree.Node) error {
	if p.ends {
		p.restart(owner)
	}
	template := owner.Object("template")
	if p.pulls {
		in("spec", each("containers", empty("imagePullPolicy", "Always")))(template)
	}
	if d.Gates.Enabled(features.DefaultHostNetworkHostPortsInPodTemplates) {
		in("spec", hostPorts)(template)
	}
	each("volumeClaimTemplates", claimTemplate...)(owner)
	if d.Templates == nil {
		return nil
	}
	question := dryrun.Template{Object: template.Bytes(), Claims: claimNames(owner)}
	made, err := d.Templates.Defaulted(ctx, question)
	if err != nil || made == nil {
		return err
	}
	tree, err := jsontree.Parse(made)
	if err != nil {
		return fmt.Errorf("reading a template with its defaults: %w", err)
	}
	podTemplate.copy(template, tree)
	question.Object = template.Bytes()
	d.Templates.Vouch(question)
	return nil
}

func (place) restart(owner *jsontree.Node) {
	if owner != nil {
		in("template", in("spec", empty("restartPolicy", "OnFailure")))(owner)
	}
}

// hostPorts gives ports of a Pod in its node's network the port there, as old versions of Kubernetes do it in templates.
func hostPorts(spec *jsontree.Node) {
	if host := spec.Get("hostNetwork"); host == nil || string(host.Bytes()) != "true" {
		return
	}
	for _, list := range []string{"containers", "initContainers"} {
		each(list, each("ports", func(port *jsontree.Node) {
			if own := port.Get("hostPort"); own != nil && string(own.Bytes()) != "0" {
				return
			}
			if number := port.Get("containerPort"); number != nil {
				port.Set("hostPort", number.Bytes())
			}
		}))(spec)
	}
}

func claimNames(owner *jsontree.Node) (names []string) {
	list := owner.Get("volumeClaimTemplates")
	if !list.IsArray() {
		return nil
	}
	for _, one := range list.Elements() {
		if metadata := one.Object("metadata"); metadata != nil {
			names = append(names, metadata.TextOf("name"))
		}
	}
	return names
}

// warningLength is what the API server is sure to pass on of a warning.
const warningLength = 120

func warning(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), warningLength)], "")
}

// shape has the members of a template that are known to have defaults: nil for a value, and what is below for an object or for
// each object of a list. Nothing else is copied: whoever changes PodTemplates by a webhook of their own does not mean ours.
type shape map[string]shape

// copy gives an object the defaults that another spelling of it has. Whoever left out a part left out its defaults too.
func (s shape) copy(to, from *jsontree.Node) {
	for _, m := range from.Members() {
		below, known := s[m.Name]
		if !known {
			continue
		}
		switch sent := to.Get(m.Name); {
		case below == nil:
			copyValue(to, m.Name, sent, m.Value)
		case sent.IsObject() && m.Value.IsObject():
			below.copy(sent, m.Value)
		case sent.IsArray() && m.Value.IsArray():
			below.copyEach(sent.Elements(), m.Value.Elements())
		}
	}
}

// copyEach goes through two lists side by side, as long as they are about the same things.
func (s shape) copyEach(to, from []*jsontree.Node) {
	for i, element := range from[:min(len(to), len(from))] {
		if to[i].IsObject() && element.IsObject() && to[i].TextOf("name") == element.TextOf("name") {
			s.copy(to[i], element)
		}
	}
}

// copyValue writes a default where nothing was sent, or what says as much.
func copyValue(to *jsontree.Node, name string, sent, value *jsontree.Node) {
	if value.Kind() == jsontext.KindNull {
		return
	}
	if sent == nil {
		to.Put(jsontree.Add, name, value.Bytes())
		return
	}
	if text := string(sent.Bytes()); (text == `""` || text == "0") && text != string(value.Bytes()) {
		to.Put(jsontree.Replace, name, value.Bytes())
	}
}
