package role

import (
	"context"

	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// rootPassword asks netd about the password of the system's root, over a connection
// of its own: a wrong one takes a second.
func rootPassword(socket string) rbac.Checker {
	netd := ctl.NewClient(socket)
	return func(ctx context.Context, _, password string) (bool, error) {
		right, err := netd.RootPassword(ctx, password)
		return right, unavailable(err)
	}
}
