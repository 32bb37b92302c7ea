package replica

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/webhook/objects"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// PolicyJudge is users' policies without a service, as they were when they were read: those of ConfigMaps. Bundles are downloaded
// by the service alone, which has the token for their server. What cannot be used is in the log, as the service has it.
type PolicyJudge struct {
	// Entries are the webhooks of the sets, with their handlers.
	Entries []table.Entry
	end     func()
}

// Close ends what the PolicyJudge holds.
func (j *PolicyJudge) Close() { j.end() }

// NewOfflinePolicies reads the ConfigMaps of a folder. Rules that need an inventory are not asked.
func NewOfflinePolicies(ctx context.Context, o Options, folder string) (*PolicyJudge, error) {
	p := newUserPolicies(o, prometheus.NewRegistry(), nil)
	if err := objects.NewDirectory(folder, o.Log, p.files(ctx)).Load(); err != nil {
		return nil, err
	}
	return p.judge(func() {}), nil
}

// NewLivePolicies reads the ConfigMaps of a cluster and what sets want to see, with the rights of config, within the time given;
// config must have no timeout.
func NewLivePolicies(ctx context.Context, o Options, config *rest.Config, within time.Duration) (*PolicyJudge, error) {
	p := newUserPolicies(o, prometheus.NewRegistry(), config)
	source, err := objects.NewCluster(config, o.Log, p.kinds(ctx)...)
	if err != nil {
		return nil, err
	}
	p.synced = source.Synced
	if err := readOnce(ctx, source, within); err != nil {
		return nil, err
	}
	following, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.follower.Run(following) // how it ends when it is told to is no news
	}()
	p.awaitInventories(ctx)
	return p.judge(func() {
		stop()
		<-ended
	}), nil
}

// awaitInventories waits until what sets want to see is there, or cannot be read.
func (p *userPolicies) awaitInventories(ctx context.Context) {
	const look = 10 * time.Millisecond // nothing but a look at a few flags
	for p.complete() != nil && ctx.Err() == nil {
		time.Sleep(look)
	}
	for _, set := range p.sets.All() {
		if _, err := p.follower.Missing(set); err != nil {
			p.keeper.Log.Error(err, "Rules of the set "+set.Name()+" are not asked", "set", set.Name())
		}
	}
}

// judge has the handlers of all sets that are in force.
func (p *userPolicies) judge(end func()) *PolicyJudge {
	p.logDecisions(slog.New(slog.DiscardHandler))
	j := &PolicyJudge{end: end}
	for _, set := range p.sets.All() {
		entry := p.Entry(set)
		entry.Handler = p.handler.For(set.Name())
		j.Entries = append(j.Entries, entry)
	}
	return j
}
