package validators_test

import (
	"encoding/json"
	"fmt"
	"testing"
)

// A SidecarSet is judged among others that select other Pods, with names of their own or with the same; the target is 3 ms
// with 1,000 others.
func BenchmarkSidecarSet(b *testing.B) {
	x := tableOf(b, "SidecarSet")
	for _, others := range []int{0, 1000, 10_000} {
		for name, container := range map[string]string{"other names": "c%d", "the same name": "agent"} {
			b.Run(fmt.Sprintf("%d others with %s", others, name), func(b *testing.B) {
				var all []json.RawMessage
				for i := range others {
					called := container
					if called != "agent" {
						called = fmt.Sprintf(container, i)
					}
					all = append(all, json.RawMessage(fmt.Sprintf(
						`{"metadata":{"name":"s%d"},"spec":{"selector":{"matchLabels":{"app":"a%d"}},"containers":[{"name":%q}]}}`, i, i, called)))
				}
				handler := newEngine(b, all...).Handler(x.groupKind())
				req := x.request(b, nil, nil)
				b.ReportAllocs()
				for b.Loop() {
					if !handler.Handle(b.Context(), req).Allowed {
						b.Fatal("refused")
					}
				}
			})
		}
	}
}

// BenchmarkKinds judges the good object of every kind; the target is that a CloneSet with all rules costs no more than eight
// reviews that do nothing.
func BenchmarkKinds(b *testing.B) {
	for _, x := range tables(b) {
		b.Run(x.Kind, func(b *testing.B) {
			handler := newEngine(b, x.Others...).Handler(x.groupKind())
			req := x.request(b, nil, nil)
			b.ReportAllocs()
			for b.Loop() {
				if !handler.Handle(b.Context(), req).Allowed {
					b.Fatal("refused")
				}
			}
		})
	}
}
