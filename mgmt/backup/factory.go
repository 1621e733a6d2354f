package backup

import (
	"context"
	"errors"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/geoip"
	"github.com/sluicelb/sluice/mgmt/store"
)

// rootName is the user that always exists.
const rootName = "root"

// Factory resets the appliance to its initial state: no farms, history, certificates,
// users, groups, custom roles, settings, documents or GeoIP database. It keeps root's
// access (its keys, its API permission, the names of the API) and the operator programs,
// which are files of the operator. It also keeps archives, including a new one of the
// previous state, unless removeBackups is set. Serials of deleted zones remain, because secondaries
// know them. The process must be restarted afterwards, as after Apply; also after *Incomplete.
func (k *Keeper) Factory(ctx context.Context, by apply.Author, removeBackups, dry bool) (apply.Result, error) {
	k.busy.Lock()
	defer k.busy.Unlock()
	begin := k.stageBefore
	if removeBackups {
		begin = func() (*staged, error) { return nil, nil }
	}
	out, err := k.replace(ctx, by, "factory reset",
		replacement{config: &farm.Config{}, begin: begin, merge: k.atFactory, settings: true, forget: true})
	if err != nil {
		return out, err
	}
	if k.options.Places != nil {
		if err = k.options.Places.Remove(); errors.Is(err, geoip.ErrNone) {
			err = nil
		}
	}
	if removeBackups {
		err = errors.Join(err, k.removeAll())
	}
	k.options.Log.Warn("factory reset", "backups_removed", removeBackups, "by", by.Name, "source", by.Source)
	if err != nil {
		err = &Incomplete{err}
	}
	return out, err
}

// atFactory returns the contents to keep.
func (k *Keeper) atFactory(_ *farm.Config, now store.Contents) (out store.Contents, err error) {
	for _, s := range now.Settings {
		if s.Name == namesName {
			out.Settings = append(out.Settings, s)
		}
	}
	for _, key := range now.Keys {
		if key.User == rootName {
			out.Keys = append(out.Keys, key)
		}
	}
	for _, d := range now.Documents {
		if d.Name == usersName {
			if d.Value, err = k.options.OnlyRoot(d.Value); err != nil {
				return out, err
			}
			out.Documents = append(out.Documents, d)
		}
	}
	return out, nil
}

func (k *Keeper) removeAll() error {
	names, err := k.folder.names()
	errs := []error{err}
	for _, name := range names {
		errs = append(errs, k.folder.remove(name))
	}
	k.folder.sweep()
	return errors.Join(errs...)
}
