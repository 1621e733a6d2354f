package apply

import (
	"context"
	"fmt"

	"github.com/sluicelb/sluice/mgmt/validate/field"
)

type fromFile struct{}

// FromFile marks the changes under ctx as read from the file of WithFile.
func FromFile(ctx context.Context) context.Context { return context.WithValue(ctx, fromFile{}, true) }

// overruled warns that the next read of the configuration file discards a change.
func (a *Applier) overruled(ctx context.Context) []field.Error {
	if a.file == nil || ctx.Value(fromFile{}) != nil {
		return nil
	}
	path := a.file()
	if path == "" {
		return nil
	}
	return []field.Error{{Message: fmt.Sprintf("this appliance takes its configuration from %s: the next start or reload discards this change unless it is made there as well", path)}}
}
