package podview

import (
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// Patch is the RFC 6902 document that makes the Pod as sent into the Pod as it is now, nil if they are the same. Lists
// are only appended to or inserted into, never written whole, unless the Pod had none.
func (p *Pod) Patch() jsontext.Value {
	var d jsontree.Operations
	p.patchMetadata(&d)
	p.patchSpec(&d)
	return d.Document()
}

func (p *Pod) patchMetadata(d *jsontree.Operations) {
	if !p.changed.name && p.changed.labels == nil && p.changed.annotations == nil {
		return
	}
	if p.sent&metadata == 0 {
		d.Append(jsontree.Add, "/metadata", jsontext.Value("{}"))
	}
	if p.changed.name {
		d.AppendText(jsontree.Add, "/metadata/name", p.Name)
	}
	patchMap(d, "/metadata/labels", p.sent&labels != 0, p.changed.labels, p.Labels)
	patchMap(d, "/metadata/annotations", p.sent&annotations != 0, p.changed.annotations, p.Annotations)
}

func patchMap(d *jsontree.Operations, path string, present bool, changed map[string]sentValue, values map[string]string) {
	if len(changed) == 0 {
		return
	}
	if !present {
		d.Append(jsontree.Add, path, jsontext.Value("{}"))
	}
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		d.AppendText(jsontree.Add, path+"/"+jsontree.Escape(key), values[key])
	}
}

func (p *Pod) patchSpec(d *jsontree.Operations) {
	if p.sent&spec != 0 {
		p.patchLists(d)
		return
	}
	var inner jsontree.Operations
	if p.patchLists(&inner); !inner.Empty() {
		d.Append(jsontree.Add, "/spec", jsontext.Value("{}"))
		d.Join(inner)
	}
}

func (p *Pod) patchLists(d *jsontree.Operations) {
	patchContainers(d, "/spec/initContainers", p.sent&initContainers != 0, p.InitContainers)
	patchContainers(d, "/spec/containers", p.sent&containers != 0, p.Containers)
	patchList(d, "/spec/volumes", p.sent&volumes != 0, p.changed.volumes)
	patchList(d, "/spec/imagePullSecrets", p.sent&imagePullSecrets != 0, p.changed.imagePullSecrets)
	patchList(d, "/spec/readinessGates", p.sent&readinessGates != 0, p.changed.readinessGates)
}

// patchList appends entries to a list that is otherwise as sent.
func patchList(d *jsontree.Operations, path string, present bool, entries []jsontext.Value) {
	if len(entries) == 0 {
		return
	}
	if !present {
		d.Append(jsontree.Add, path, array(entries))
		return
	}
	for _, entry := range entries {
		d.Append(jsontree.Add, path+"/-", entry)
	}
}

// patchContainers first edits the containers that were sent, by their indexes as sent, then inserts the new ones in
// ascending order, so that each one's index is its final one.
func patchContainers(d *jsontree.Operations, path string, present bool, list []*Container) {
	for _, c := range list {
		if c.origin >= 0 && (c.dirty || c.changes != nil) {
			patchContainer(d, path+"/"+strconv.Itoa(c.origin), c)
		}
	}
	if !present {
		if len(list) > 0 {
			d.Append(jsontree.Add, path, array(rendered(list)))
		}
		return
	}
	last := lastSent(list)
	for i, c := range list {
		switch {
		case c.origin >= 0:
		case i > last:
			d.Append(jsontree.Add, path+"/-", c.render())
		default:
			d.Append(jsontree.Add, path+"/"+strconv.Itoa(i), c.render())
		}
	}
}

func lastSent(list []*Container) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].origin >= 0 {
			return i
		}
	}
	return -1
}

func patchContainer(d *jsontree.Operations, path string, c *Container) {
	if c.dirty {
		d.Append(jsontree.Replace, path, c.render())
		return
	}
	for f, entries := range c.changes.added {
		for _, e := range c.changes.edited[f] {
			d.Append(jsontree.Replace, path+"/"+fieldNames[f]+"/"+strconv.Itoa(e.index), e.value)
		}
		patchList(d, path+"/"+fieldNames[f], c.lists[f] != nil, entries)
	}
}

func rendered(list []*Container) []jsontext.Value {
	values := make([]jsontext.Value, len(list))
	for i, c := range list {
		values[i] = c.render()
	}
	return values
}
