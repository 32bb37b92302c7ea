package sidecarset

import (
	"context"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// ask reads a revision live, once for all Pods that want it now.
func (r *Revisions) ask(ctx context.Context, w wanted) (*revision, error) {
	if answer, ok := r.answers.Get(w); ok {
		return answer.(*revision), nil
	}
	flight := r.flights.DoChan(w.sidecarSet+"/"+w.String(), func() (any, error) {
		// The read serves other requests too, so that it does not end with the one that began it.
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), liveTimeout)
		defer cancel()
		found, err := r.read(limited, w)
		if err != nil {
			return nil, err
		}
		r.answers.Add(w, found, liveFor)
		return found, nil
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case result := <-flight:
		found, _ := result.Val.(*revision) // nothing beside an error
		return found, result.Err
	}
}

func (r *Revisions) read(ctx context.Context, w wanted) (*revision, error) {
	if w.name != "" {
		raw, found, err := r.live.Revision(ctx, w.name)
		if err != nil || !found {
			return nil, err
		}
		one, _, err := readRevision(raw)
		return one, err
	}
	raws, err := r.live.Revisions(ctx, map[string]string{
		v1beta1.SidecarSetNameLabel: w.sidecarSet, v1beta1.SidecarSetCustomVersionLabel: w.version,
	})
	if err != nil {
		return nil, err
	}
	var list []*revision
	for _, raw := range raws {
		one, _, err := readRevision(raw)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return w.newest(list), nil
}
