package sidecarset

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/mutators/podview"
)

// compilePair makes the two containers of a hot upgrade (sidecarset.md §7): the same but for name and image.
func (s *sidecar) compilePair(marked jsontext.Value, doc *sidecarDocument) error {
	s.hot, s.image, s.emptyImage = true, doc.Image, doc.UpgradeStrategy.HotUpgradeEmptyImage
	if s.emptyImage == "" {
		return errors.New("upgradeStrategy.hotUpgradeEmptyImage is missing, which HotUpgrade needs for the second container")
	}
	for i := range 2 {
		name := s.pairName(i)
		raw, err := editObject(marked, []string{"name", "image"}, "name", jsontree.Quote(name), "image", jsontree.Quote(s.pairImage(i, 0)))
		if err != nil {
			return err
		}
		template, err := podview.NewContainer(raw)
		if err != nil {
			return err
		}
		s.instances = append(s.instances, instance{template: template, versionEnv: []variable{
			envFromAnnotation(v1beta1.SidecarVersionEnv, versionKey(name)),
			envFromAnnotation(v1beta1.SidecarVersionAltEnv, versionAltKey(name)),
		}})
	}
	return nil
}

// pairName is the Pod's name of one of the two.
func (s *sidecar) pairName(i int) string { return s.name + "-" + strconv.Itoa(i+1) }

// pairImage is what one of the two runs while the one at index working works.
func (s *sidecar) pairImage(i, working int) string {
	if i == working {
		return s.image
	}
	return s.emptyImage
}

func versionKey(container string) string {
	return v1beta1.SidecarSetVersionAnnotationPrefix + container
}

func versionAltKey(container string) string {
	return v1beta1.SidecarSetVersionAltAnnotationPrefix + container
}

func envFromAnnotation(name, annotation string) variable {
	path := fmt.Sprintf("metadata.annotations['%s']", annotation)
	raw := append(jsontext.Value(`{"name":`), jsontree.Quote(name)...)
	raw = append(raw, `,"valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":`...)
	return variable{name: name, raw: append(append(raw, jsontree.Quote(path)...), `}}}`...)}
}
