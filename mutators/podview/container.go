package podview

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// Field names one of a container's lists that mutators append to.
type Field int

// The lists of a container.
const (
	Env Field = iota
	VolumeMounts
	VolumeDevices
	fieldCount
)

var fieldNames = [fieldCount]string{"env", "volumeMounts", "volumeDevices"}

// Container is one container of a Pod, or one to be added.
type Container struct {
	Name string
	// RestartPolicy is "Always" for an init container that runs beside the others (a native sidecar).
	RestartPolicy string

	raw     jsontext.Value
	lists   [fieldCount]jsontext.Value
	changes *changes // nil while it is as sent, which most containers stay
	origin  int      // index in the request's list, -1 if it was not there
	dirty   bool     // raw differs from what the request had at origin
}

// changes are entries of a container's lists that are not as sent.
type changes struct {
	edited [fieldCount][]edit
	added  [fieldCount][]jsontext.Value
}

// change is what changes are written into.
func (c *Container) change() *changes {
	if c.changes == nil {
		c.changes = &changes{}
	}
	return c.changes
}

// added are the entries that were appended to a list.
func (c *Container) added(f Field) []jsontext.Value {
	if c.changes == nil {
		return nil
	}
	return c.changes.added[f]
}

// edited are the entries of a list that were set.
func (c *Container) edited(f Field) []edit {
	if c.changes == nil {
		return nil
	}
	return c.changes.edited[f]
}

// NewContainer reads a container that a mutator wants to add. raw is not copied and must not change afterwards.
func NewContainer(raw jsontext.Value) (*Container, error) {
	c := &Container{}
	err := jsonwalk.Walk(raw, c.read)
	if err != nil {
		return nil, fmt.Errorf("reading container: %w", err)
	}
	c.origin = -1
	return c, nil
}

// Clone makes a container that can be appended to without touching c.
func (c *Container) Clone() *Container {
	clone := *c
	if c.changes != nil {
		own := *c.changes
		for f := range own.added {
			own.added[f] = slices.Clip(own.added[f])
		}
		clone.changes = &own
	}
	return &clone
}

func (c *Container) read(w *jsonwalk.Walker) error {
	start := w.Offset()
	err := w.Object(func(name string) (err error) {
		switch name {
		case "name":
			c.Name, err = w.String()
		case "restartPolicy":
			c.RestartPolicy, err = w.String()
		case "env":
			c.lists[Env], err = w.Value()
		case "volumeMounts":
			c.lists[VolumeMounts], err = w.Value()
		case "volumeDevices":
			c.lists[VolumeDevices], err = w.Value()
		}
		return err
	})
	c.raw = w.Since(start)
	return err
}

// Append adds entries, each a JSON object, at the end of one of the container's lists.
func (c *Container) Append(f Field, entries ...jsontext.Value) {
	if len(entries) > 0 {
		c.change().added[f] = append(c.added(f), entries...)
	}
}

// Entries calls fn for each entry of a list, as sent or edited and then as appended, until fn returns an error. An entry
// that is null is passed as such, never as nil, so that it reads like an object without members.
func (c *Container) Entries(f Field, fn func(jsontext.Value) error) error {
	if c.lists[f] != nil {
		i := 0
		err := jsonwalk.Walk(c.lists[f], func(w *jsonwalk.Walker) error {
			return w.Array(func() error {
				entry, err := w.Value()
				if err != nil {
					return err
				}
				if entry == nil {
					entry = jsontext.Value("null")
				}
				i++
				return fn(c.entry(f, i-1, entry))
			})
		})
		if err != nil {
			return fmt.Errorf("reading %s of container %q: %w", fieldNames[f], c.Name, err)
		}
	}
	for _, entry := range c.added(f) {
		if err := fn(entry); err != nil {
			return err
		}
	}
	return nil
}

// Raw is the list as sent, nil if absent; what was appended is not in it. It lets a caller look for a word before it
// decodes anything.
func (c *Container) Raw(f Field) jsontext.Value { return c.lists[f] }

// JSON is the container with all changes so far. It may alias the request and must not be changed.
func (c *Container) JSON() jsontext.Value { return c.render() }
