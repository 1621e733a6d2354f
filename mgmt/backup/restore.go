package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/disk"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/geoip"
	"github.com/sluicelb/sluice/mgmt/hook"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Names in the store that are restored only from the same node, or only for some callers.
const (
	usersName   = "rbac"                 // of mgmt/rbac
	namesName   = "api_names"            // the names of this node's API
	pendingName = "backup.pending-hooks" // programs still to be written
)

// ofNow lists documents about current activities of this node. Archives omit them, and a
// restoration does not change them. A final dot represents all names with that prefix.
var ofNow = []string{"notify.waiting", "notify.waiting.", "machine.untold", "events.engine",
	"events.farms", "notify.farms"}

// Request is a request to restore an archive.
type Request struct {
	Name       string
	Passphrase string
	// Force accepts archives of other releases.
	Force bool
	// Root also restores users, groups, roles, keys and settings.
	Root bool
	// Local is set for a request on the machine itself, which also restores programs.
	Local bool
	// KeepMachine keeps the machine settings, e.g. on a machine with other networks.
	KeepMachine bool
	// Dry is a dry run.
	Dry bool
}

// Restored is the result of a restoration.
type Restored struct {
	apply.Result
	// Before is the archive of the previous state.
	Before string
	// Left lists what was not restored, as sentences.
	Left []string
}

// Apply restores an archive in one step, as one revision. The process must be restarted
// afterwards, because other packages still hold the previous state in memory. Errors:
// ErrNone, *Error, errors of apply.Restore.
func (k *Keeper) Apply(ctx context.Context, by apply.Author, r Request) (Restored, error) {
	k.busy.Lock()
	defer k.busy.Unlock()
	a, err := k.load(r.Name, r.Passphrase)
	if err != nil {
		return Restored{}, err
	}
	restored, takeBack := false, k.lendPlugins(a, r)
	forget, err := k.trustNodeKeys(a)
	defer func() {
		if !restored {
			takeBack()
			forget()
		}
	}()
	if err != nil {
		return Restored{}, err
	}
	cfg, err := k.check(a, r)
	if err != nil {
		return Restored{}, err
	}
	left := k.leave(a, r)
	var hooks []Hook
	if r.Local {
		hooks = a.Hooks
	}
	out, err := k.replace(ctx, by, "restore the backup "+r.Name, replacement{
		config: cfg, from: a.Contents, begin: k.stageBefore, keys: a.NodeKeys, settings: r.Root,
		merge: func(cfg *farm.Config, now store.Contents) (store.Contents, error) {
			return k.contentsFor(cfg, now, a, hooks, r.Root)
		}})
	if err != nil {
		return Restored{Result: out, Left: left}, err
	}
	restored = !r.Dry
	k.Finish()
	if err := k.putPlaces(a); err != nil {
		left = append(left, fmt.Sprintf("The GeoIP database stays as it is: %s.", err))
	}
	k.options.Log.Warn("backup restored", "name", r.Name, "made", a.Manifest.Date, "on", hook.Shown(a.Manifest.Hostname), "revision", out.Revision.Number, "by", by.Name, "source", by.Source)
	return Restored{out, Before, left}, nil
}

// lendPlugins writes missing plugins before the configuration is validated, because its
// checks refer to them. takeBack removes them.
func (k *Keeper) lendPlugins(a *archive, r Request) (takeBack func()) {
	var lent []string
	for _, h := range a.Hooks {
		path := filepath.Join(k.options.Dir, h.path())
		if _, err := os.Lstat(path); !r.Local || h.Folder != hook.Plugins || !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := k.writeProgram(h); err == nil { // otherwise the validation reports the missing one
			lent = append(lent, path)
		}
	}
	return func() {
		for _, path := range lent {
			_ = os.Remove(path)
		}
	}
}

// putPlaces restores the GeoIP database. It is a separate file outside of the one step:
// after an interruption, the previous one remains.
func (k *Keeper) putPlaces(a *archive) error {
	if a.Places == nil || k.options.Places == nil {
		return nil
	}
	err := k.options.Places.Restore(a.Places)
	if err != nil {
		k.options.Log.Error("the GeoIP database of the backup was not restored", "reason", err)
	}
	return err
}

// load reads a whole archive.
func (k *Keeper) load(name, passphrase string) (*archive, error) {
	f, _, err := k.folder.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f, passphrase)
}

// check returns the reason why an archive cannot be restored here, or its configuration.
func (k *Keeper) check(a *archive, r Request) (*farm.Config, error) {
	m := &a.Manifest
	if m.Layout > store.Layout {
		return nil, invalid("the backup was made by the newer release %s and cannot be read by this one (%s): install that, restore, and go on", hook.Shown(m.Version), k.options.Version)
	}
	if m.Version != k.options.Version && !r.Force {
		return nil, invalid("the backup was made by release %s, this is %s: restore it with force, after a look at what changed between them", hook.Shown(m.Version), k.options.Version)
	}
	if !k.options.Certificates.KnowsNodeKey(m.Node) {
		return nil, invalid("the backup is of another node (%s), and its private keys are sealed with that node's key: make one with a passphrase there, or put that node.key here as node-%s.key (mode 0600)", hook.Shown(m.Hostname), hook.Shown(m.Node))
	}
	if err := checkContents(&a.Contents); err != nil {
		return nil, err
	}
	if a.Places != nil {
		if err := geoip.Check(a.Places); err != nil {
			return nil, damaged("%s: %s", placesName, err)
		}
	}
	cfg, err := document.Decode(a.Config)
	if err != nil {
		return nil, invalid("the configuration of the backup cannot be used: %s", err)
	}
	// A backup is complete: missing settings were not set.
	cfg.SystemUnsaid, cfg.ChecksUnsaid = r.KeepMachine, false
	return cfg, nil
}

// checkContents rejects contents that the store could not hold, or duplicates.
func checkContents(c *store.Contents) error {
	seen := map[string]bool{}
	once := func(kind, name string) error {
		if name == "" || len(name) > 1024 || seen[kind+name] {
			return damaged("%s has a %s without a name, or twice", storeName, kind)
		}
		seen[kind+name] = true
		return nil
	}
	var errs []error
	for i := range c.Certificates {
		errs = append(errs, once("certificate", c.Certificates[i].Name))
	}
	for i := range c.Authorities {
		errs = append(errs, once("list of authorities", c.Authorities[i].Name))
	}
	for i := range c.Settings {
		errs = append(errs, once("setting", c.Settings[i].Name))
	}
	for i := range c.Documents {
		errs = append(errs, once("document", c.Documents[i].Name))
	}
	for i := range c.Keys {
		errs = append(errs, once("key", fmt.Sprint(c.Keys[i].ID)))
		if len(c.Keys[i].Hash) != 32 {
			errs = append(errs, damaged("%s has a key without its sum", storeName))
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// leave lists the parts of an archive that are not restored.
func (k *Keeper) leave(a *archive, r Request) (left []string) {
	if r.KeepMachine {
		left = append(left, "The settings of the machine and the aliases stay as they are.")
	}
	if !r.Root {
		left = append(left, "Users, groups, roles, API keys and settings stay as they are: root alone restores them.")
	}
	if len(a.Hooks) > 0 && !r.Local {
		left = append(left, fmt.Sprintf("%d programs in the folders %s stay as they are: they are restored on the machine itself only, by sluice backup apply.", len(a.Hooks), strings.Join(programFolders, " and ")))
	}
	return left
}

// trustNodeKeys makes the data of an archive readable. forget reverts that, also after an error.
func (k *Keeper) trustNodeKeys(a *archive) (forget func(), err error) {
	var all []func()
	forget = func() {
		for _, forget := range all {
			forget()
		}
	}
	for _, key := range a.NodeKeys {
		one, err := k.options.Certificates.TrustNodeKey(key)
		if err != nil {
			return forget, damaged("%s", err)
		}
		all = append(all, one)
	}
	return forget, nil
}

// withNodeKeys stores the keys of other nodes and then calls store, whose data needs them. If store
// fails, the keys are removed.
func (k *Keeper) withNodeKeys(keys [][]byte, store func() error) error {
	var added []func() error
	err := func() error {
		for _, key := range keys {
			undo, err := k.options.Certificates.AddNodeKey(key)
			if err != nil {
				return fmt.Errorf("keep the node key of the backup: %w", err)
			}
			added = append(added, undo)
		}
		return store()
	}()
	if err != nil {
		for _, undo := range added {
			err = errors.Join(err, undo())
		}
	}
	return err
}

// replacement is a new state of the node.
type replacement struct {
	config *farm.Config
	from   store.Contents // contains the certificates and authorities
	// begin returns the archive of the state before, which gets its name in the same step, or nil.
	begin func() (*staged, error)
	keys  [][]byte // node keys that the state needs
	// merge returns the contents of the store from the current ones.
	merge    func(cfg *farm.Config, now store.Contents) (store.Contents, error)
	settings bool // settings and documents are replaced, too
	forget   bool // the history is deleted
}

// replace carries out a replacement in one step.
func (k *Keeper) replace(ctx context.Context, by apply.Author, comment string, r replacement) (apply.Result, error) {
	swap, undo := k.options.Certificates.Exchange(r.from.Certificates, r.from.Authorities)
	var before *staged
	defer func() { before.drop() }()
	return k.options.Applier.Restore(ctx, by, comment, apply.Restoration{Config: r.config, Swap: swap, Undo: undo,
		Begin: func() (err error) {
			before, err = r.begin()
			return err
		},
		Keep: func(cfg *farm.Config, meta store.Meta) (kept store.Revision, err error) {
			next := store.Replacement{Forget: r.forget,
				Merge: func(now store.Contents) (store.Contents, error) { return r.merge(cfg, now) }}
			if r.settings && k.options.Restarts {
				next.Freeze = isFrozen
			}
			_, current := k.options.Store.Current()
			return kept, k.withNodeKeys(r.keys, func() error {
				return before.during(current.Number, func() (err error) {
					kept, err = k.options.Store.Restore(cfg, meta, next)
					return err
				})
			})
		}})
}

// isFrozen reports whether other packages must not write a document before the restart, because
// they hold its value from before the restoration.
func isFrozen(document string) bool {
	return document != pendingName && !called(store.StoredDocument{Name: document}, ofNow)
}

// contentsFor returns the contents to store from an archive. This node's names are kept.
// Callers other than root restore only certificates and authorities, because settings
// affect access, too.
func (k *Keeper) contentsFor(cfg *farm.Config, now store.Contents, a *archive, hooks []Hook, root bool) (out store.Contents, err error) {
	out = store.Contents{Certificates: a.Contents.Certificates, Authorities: a.Contents.Authorities}
	if root {
		out.Keys, out.Settings = a.Contents.Keys, named(a.Contents.Settings, false)
		out.Settings = append(out.Settings, named(now.Settings, true)...)
		out.Documents, err = k.documentsFor(cfg, a)
		out.Documents = append(out.Documents, only(now.Documents, ofNow)...)
	} else {
		out.Keys, out.Settings, out.Documents = now.Keys, now.Settings, without(now.Documents, pendingName)
	}
	if err == nil && len(hooks) > 0 {
		var pending store.StoredDocument
		pending, err = pendingDocument(hooks)
		out.Documents = append(out.Documents, pending)
	}
	return out, err
}

// named returns the settings that are names of a node, or all others.
func named(list []store.StoredSetting, names bool) (out []store.StoredSetting) {
	for _, s := range list {
		if (s.Name == namesName) == names {
			out = append(out, s)
		}
	}
	return out
}

// documentsFor returns the documents of an archive, with the farms of groups mapped by
// name.
func (k *Keeper) documentsFor(cfg *farm.Config, a *archive) (out []store.StoredDocument, err error) {
	for _, d := range without(a.Contents.Documents, append(ofNow, pendingName)...) {
		if d.Name == usersName {
			if d.Value, err = k.options.Renumbered(d.Value, func(old uint32) (uint32, bool) {
				f := cfg.Farm(a.Farms[old])
				if f == nil {
					return 0, false
				}
				return f.ID, true
			}); err != nil {
				return nil, err
			}
		}
		out = append(out, d)
	}
	return out, nil
}

// Finish writes the programs recorded by a restoration: right after it, and at start in
// case it was interrupted. Failures are logged and not retried.
func (k *Keeper) Finish() {
	var hooks []Hook
	found, err := k.options.Store.ReadDocument(pendingName, &hooks)
	if err != nil || !found || len(hooks) == 0 {
		return
	}
	for _, h := range hooks {
		if err := k.writeProgram(h); err != nil {
			k.options.Log.Error("a program of the backup was not restored", "name", h.Name, "reason", err)
		}
	}
	if err := k.options.Store.WriteDocument(pendingName, []Hook{}); err != nil {
		k.options.Log.Error("programs of the backup are restored again at the next start", "reason", err)
	}
}

func (k *Keeper) writeProgram(h Hook) error {
	if problem := hook.NameProblem(h.Name); problem != "" {
		return errors.New(problem)
	}
	if _, is := programMember(h.path()); !is {
		return fmt.Errorf("%q is no folder of programs", h.Folder)
	}
	path := filepath.Join(k.options.Dir, h.path())
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := disk.Replace(path, h.Content); err != nil {
		return err
	}
	return os.Chmod(path, 0o700)
}

func pendingDocument(hooks []Hook) (store.StoredDocument, error) {
	text, err := json.Marshal(hooks)
	return store.StoredDocument{Name: pendingName, Value: text}, err
}
