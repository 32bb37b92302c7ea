package yamljson

import (
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// encoder writes a tree of nodes as JSON.
type encoder struct {
	out []byte
	// open are the nodes that are being written, to tell an alias to one of them.
	open map[*yaml.Node]bool
}

func (e *encoder) value(node *yaml.Node) error {
	if len(e.out) > maxOutput {
		return wrong(node, "the document is larger than %d MiB", maxOutput>>20)
	}
	if e.open[node] {
		return wrong(node, "the anchor %q contains itself", node.Anchor)
	}
	e.open[node] = true
	defer delete(e.open, node)
	switch node.Kind {
	case yaml.MappingNode:
		return e.mapping(node)
	case yaml.SequenceNode:
		return e.sequence(node)
	case yaml.AliasNode:
		return e.value(node.Alias)
	case yaml.ScalarNode:
		text, err := scalar(node)
		e.out = append(e.out, text...)
		return err
	default:
		return wrong(node, "a YAML node of kind %d has no JSON form", node.Kind)
	}
}

func (e *encoder) sequence(node *yaml.Node) error {
	e.out = append(e.out, '[')
	for i, item := range node.Content {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := e.value(item); err != nil {
			return err
		}
	}
	e.out = append(e.out, ']')
	return nil
}

func (e *encoder) mapping(node *yaml.Node) error {
	members, err := membersOf(node)
	if err != nil {
		return err
	}
	e.out = append(e.out, '{')
	for i, m := range members {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		e.out = quote(e.out, m.name)
		e.out = append(e.out, ':')
		if err := e.value(m.value); err != nil {
			return err
		}
	}
	e.out = append(e.out, '}')
	return nil
}

// quote appends a JSON string. Its error only says that invalid UTF-8 became U+FFFD, and the parser lets none through.
func quote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// member is one name of a mapping with its value.
type member struct {
	name  string
	value *yaml.Node
}

// membersOf are the members of a mapping in their order, merge keys (`<<: *other`) resolved: what the mapping says
// itself wins over what it merges, and of several merged ones the first.
func membersOf(node *yaml.Node) ([]member, error) {
	var members []member
	var merges []*yaml.Node
	seen := make(map[string]bool, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		name, err := nameOf(key)
		if err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, wrong(key, "the key %q is there twice", name)
		}
		seen[name] = true
		members = append(members, member{name, value})
	}
	for _, merge := range merges {
		merged, err := mergedBy(merge)
		if err != nil {
			return nil, err
		}
		for _, m := range merged {
			if !seen[m.name] {
				seen[m.name] = true
				members = append(members, m)
			}
		}
	}
	return members, nil
}

// mergedBy are the members that the value of a merge key stands for: a mapping, or a sequence of them.
func mergedBy(node *yaml.Node) ([]member, error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].ShortTag() == "!!merge" && node.Content[i].Kind == yaml.ScalarNode {
				return nil, wrong(node.Content[i], "a merged mapping must not merge another one")
			}
		}
		return membersOf(node)
	case yaml.SequenceNode:
		var all []member
		for _, item := range node.Content {
			if item.Kind == yaml.AliasNode {
				item = item.Alias
			}
			if item.Kind != yaml.MappingNode {
				return nil, wrong(item, "a merge key takes mappings only")
			}
			merged, err := mergedBy(item)
			if err != nil {
				return nil, err
			}
			all = append(all, merged...)
		}
		return all, nil
	default:
		return nil, wrong(node, "a merge key takes a mapping or a list of them")
	}
}

// nameOf is the JSON name for a key; numbers and booleans are written as their JSON.
func nameOf(key *yaml.Node) (string, error) {
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	if key.Kind != yaml.ScalarNode || isNull(key) {
		return "", wrong(key, "a key must be a string")
	}
	text, err := scalar(key)
	if err != nil {
		return "", err
	}
	if text[0] != '"' {
		return string(text), nil
	}
	name, err := jsontext.AppendUnquote(nil, text)
	if err != nil {
		return "", wrong(key, "reading the key: %v", err)
	}
	return string(name), nil
}
