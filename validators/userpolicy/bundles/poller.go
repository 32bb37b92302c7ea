package bundles

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/internal/bell"
	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/validators/userpolicy/sources"
)

// firstRetry is the delay after the first failure; it grows up to the time between polls.
const firstRetry = time.Second

// Settings are what ConfigMaps say about bundles.
type Settings interface {
	// Settings are the text of settings.yaml, or an error when there is none to be relied on.
	Settings(bundle string) (string, error)
	// Notify has a function called when they may have changed.
	Notify(changed func(bundle string))
}

// Options are what a Poller needs; all are required but Directory.
type Options struct {
	Bundles []Config
	// Directory keeps the last good versions; "" for nowhere.
	Directory string
	Keeper    *sources.Keeper
	Settings  Settings
	Clock     clock.WithTicker
	Log       klog.Logger
}

// Poller keeps bundles up to date.
type Poller struct {
	Options
	followed []*followed
}

// followed is a bundle as far as it has come.
type followed struct {
	*Poller
	config Config
	shelf  shelf
	bell   bell.Bell

	mu sync.Mutex
	// tried says that the server was asked once, or that a kept version was found.
	tried bool
	// content is what was downloaded last, whether it is in force or not, and etag its tag.
	content content
	etag    string
	// good are the settings that the set was in force with last, nil for none, and fallen is what came of putting a version into force
	// with them whose own settings are of no use.
	good   *string
	fallen struct {
		hash string
		err  error
	}
}

// New makes a Poller. Kept versions are put into force by Restore.
func New(o Options) *Poller {
	p := &Poller{Options: o}
	named := make(map[string]*followed)
	for _, config := range o.Bundles {
		f := &followed{Poller: p, config: config, shelf: shelf(o.Directory), bell: bell.New()}
		p.followed = append(p.followed, f)
		named[config.Name] = f
	}
	o.Settings.Notify(func(bundle string) {
		if f := named[bundle]; f != nil {
			f.bell.Ring()
		}
	})
	return p
}

// Awaited are the names of sets that are not in force yet.
func (p *Poller) Awaited() []string {
	var names []string
	for _, f := range p.followed {
		if name := f.set(); p.Keeper.Sets.Get(name) == nil {
			names = append(names, name)
		}
	}
	return names
}

// Tried is nil once each bundle was found on the shelf, or asked for once.
func (p *Poller) Tried() error {
	for _, f := range p.followed {
		f.mu.Lock()
		tried := f.tried
		f.mu.Unlock()
		if !tried {
			return fmt.Errorf("the bundle %s was not asked for yet", f.config.Name)
		}
	}
	return nil
}

// Restore reads the kept versions. The settings should be known by then: without them a version would be in force for all.
func (p *Poller) Restore(ctx context.Context) {
	for _, f := range p.followed {
		f.restore(ctx)
	}
}

// Run polls until ctx ends.
func (p *Poller) Run(ctx context.Context) error {
	var group sync.WaitGroup
	for _, f := range p.followed {
		group.Go(func() { f.run(ctx) })
	}
	group.Wait()
	return nil
}

func (f *followed) set() string { return userpolicy.BundlePrefix + f.config.Name }

func (f *followed) restore(ctx context.Context) {
	good, err := f.shelf.settings(f.config)
	if err != nil {
		f.Log.Error(err, "Cannot use the kept settings of a bundle", "bundle", f.config.Name)
	}
	f.good = good
	k, err := f.shelf.get(f.config)
	if err == nil && k != nil {
		err = f.read(ctx, *k)
	}
	if err != nil {
		f.Log.Error(err, "Cannot use the kept version of a bundle; it is downloaded", "bundle", f.config.Name)
		return
	}
	if k != nil {
		f.Log.Info("The kept version of a bundle is in force until its server answers", "bundle", f.config.Name, "etag", k.ETag)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.tried = true
	}
}

func (f *followed) run(ctx context.Context) {
	fresh := func() *wait.Backoff {
		return &wait.Backoff{Duration: min(firstRetry, f.config.poll()), Factor: 2, Jitter: 0.2, Steps: 20, Cap: f.config.poll()}
	}
	retry := fresh()
	for ctx.Err() == nil {
		idle := wait.Jitter(f.config.poll(), 0.1) // replicas that started together part
		if err := f.look(ctx); err != nil && ctx.Err() == nil {
			idle = retry.Step()
			f.Log.Error(err, "Cannot bring a bundle up to date; the version before stays in force", "bundle", f.config.Name, "retryIn", idle)
		} else {
			retry = fresh()
		}
		f.mu.Lock()
		f.tried = true
		f.mu.Unlock()
		f.idle(ctx, idle)
	}
}

// idle waits for the next poll, and meanwhile follows the settings.
func (f *followed) idle(ctx context.Context, d time.Duration) {
	timer := f.Clock.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
			return
		case <-f.bell:
			if f.content.modules != nil {
				_ = f.load(ctx) // its state has it
			}
		}
	}
}

// look asks for the bundle once.
func (f *followed) look(ctx context.Context) error {
	got, err := f.config.fetch(ctx, f.etag)
	if err == nil && got.tarball == nil && f.content.modules == nil {
		err = errors.New("asking for the bundle: the server answers that it has not changed, and there is none to compare with")
	}
	if err != nil {
		f.Keeper.Refuse(f.set(), err)
		return err
	}
	if got.tarball == nil {
		_ = f.load(ctx) // it was told when it came
		return nil
	}
	k := kept{ETag: got.etag, Tarball: got.tarball}
	if err := f.read(ctx, k); err != nil {
		return err
	}
	if err := f.shelf.put(f.config, k); err != nil {
		f.Log.Error(err, "A bundle is in force but not kept for a restart", "bundle", f.config.Name)
	}
	return nil
}

// read takes a version in. One that does not compile stays the newest until another comes: it is not downloaded again, and
// settings may make it good.
func (f *followed) read(ctx context.Context, k kept) error {
	found, err := unpack(f.config, k.Tarball)
	if err != nil {
		f.Keeper.Reject(f.set(), fmt.Sprintf("%x", sha256.Sum256(k.Tarball))[:12], err)
		return err
	}
	f.content, f.etag = found, k.ETag
	return f.load(ctx)
}

// load puts the version into force with the settings of now or, if those are of no use, with the last good ones.
func (f *followed) load(ctx context.Context) error {
	if f.content.modules == nil {
		return nil
	}
	settings, err := f.Settings.Settings(f.config.Name)
	if err != nil && f.good == nil {
		f.Keeper.Refuse(f.set(), err)
		return err
	}
	if err != nil {
		broken := f.with("")
		return f.fall(ctx, fmt.Sprintf("%x", sha256.Sum256([]byte(broken.Hash+err.Error())))[:12], err)
	}
	found := f.with(settings)
	switch err = f.Keeper.Load(ctx, found); {
	case err == nil:
		f.remember(settings)
		return nil
	case f.good == nil || *f.good == settings:
		return err
	default:
		return f.fall(ctx, found.Hash, err)
	}
}

// with is the version with settings.
func (f *followed) with(settings string) sources.Found {
	files := maps.Clone(f.content.modules)
	if settings != "" {
		files[userpolicy.SettingsFile] = settings
	}
	return sources.Found{Name: f.set(), Files: files, Data: f.content.data, Hash: hash(files, f.content)}
}

// fall puts the version into force with the last good settings, once, and has its state say what is wrong with those of now. hash is that
// of the version with them. The error says that the version is of no use with the others either.
func (f *followed) fall(ctx context.Context, hash string, wrong error) error {
	if f.fallen.hash != hash {
		f.fallen.hash, f.fallen.err = hash, f.Keeper.Load(ctx, f.with(*f.good))
	}
	if f.fallen.err == nil {
		wrong = fmt.Errorf("%w; the last good settings are in force", wrong)
	}
	f.Keeper.Reject(f.set(), hash, wrong)
	return f.fallen.err
}

// remember notes the settings that the set is in force with.
func (f *followed) remember(settings string) {
	f.fallen.hash = ""
	if f.good != nil && *f.good == settings {
		return
	}
	f.good = &settings
	if err := f.shelf.putSettings(f.config, settings); err != nil {
		f.Log.Error(err, "The settings of a bundle are in force but not kept for a restart", "bundle", f.config.Name)
	}
}

func hash(files map[string]string, c content) string {
	digest := sha256.New()
	source, err := userpolicy.Parse("", files)
	if err == nil && c.data != nil {
		source, err = source.WithData(c.data)
	}
	if err != nil {
		fmt.Fprint(digest, err, files, c.data)
		return hex.EncodeToString(digest.Sum(nil))[:12]
	}
	return source.Revision()
}
