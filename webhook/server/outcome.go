package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/review"
)

// outcome is how a request ended, as the metrics name it.
type outcome string

const (
	allowed   outcome = "allowed"
	mutated   outcome = "mutated"
	denied    outcome = "denied"
	malformed outcome = "malformed"
	shed      outcome = "shed"
	timedOut  outcome = "timeout"
	faulted   outcome = "fault"
	panicked  outcome = "panic"
)

// classify names what a handler answered.
func classify(ctx context.Context, response admission.Response) outcome {
	switch {
	case response.Fault == http.StatusTooManyRequests:
		return shed
	case response.Fault != 0 && ctx.Err() != nil:
		return timedOut
	case response.Fault != 0:
		return faulted
	case !response.Allowed:
		return denied
	case review.Changes(response.Patch):
		return mutated
	default:
		return allowed
	}
}

// log writes a line for a request that was changed or refused, and a louder one for a fault of ours. The lines name
// the object and the decision, whose id is the review's uid; never its content, nor a message that may quote it.
func (c *call) log(v verdict, took time.Duration) {
	switch v.outcome {
	case mutated, denied:
		c.access(v, took)
	case faulted, timedOut:
		c.server.log.Error(nil, "Review not judged", "webhook", c.route.Webhooks[0], "uid", c.review.UID(),
			"code", v.response.Fault, "reason", message(v.response), "duration", took)
	default: // neither news nor trouble of ours, and a panic is logged where it is caught
	}
}

func (c *call) access(v verdict, took time.Duration) {
	req := c.review.Request
	attrs := make([]slog.Attr, 0, 14)
	attrs = append(attrs,
		slog.String("uid", req.UID),
		slog.String("webhook", c.route.Webhooks[0]),
		slog.String("operation", string(req.Operation)),
		slog.String("kind", req.Kind.Kind),
		slog.String("resource", resource(req)),
		slog.String("namespace", req.Namespace),
		slog.String("name", req.Name),
		slog.String("decision", string(v.outcome)),
	)
	if v.response.Status != nil {
		attrs = append(attrs, slog.Int("code", int(v.response.Status.Code)), slog.String("reason", string(v.response.Status.Reason)))
	}
	if v.outcome == denied && c.server.rules != nil {
		attrs = append(attrs, slog.String("rules", c.server.rules()))
	}
	if v.outcome == mutated {
		attrs = append(attrs, slog.Int("patchBytes", len(v.response.Patch)))
	}
	if req.DryRun {
		attrs = append(attrs, slog.Bool("dryRun", true))
	}
	attrs = append(attrs, slog.Float64("durationSeconds", took.Seconds()))
	c.server.access.LogAttrs(context.Background(), slog.LevelInfo, "review", attrs...)
}

// resource is group/version/resource/subresource, without the parts that are empty.
func resource(req *admission.Request) string {
	name := req.Resource.Version + "/" + req.Resource.Resource
	if req.Resource.Group != "" {
		name = req.Resource.Group + "/" + name
	}
	if req.SubResource != "" {
		name += "/" + req.SubResource
	}
	return name
}

func message(response admission.Response) string {
	if response.Status == nil {
		return ""
	}
	return response.Status.Message
}
