package role

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor/line"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/directory"
	"github.com/sluicelb/sluice/mgmt/oidc"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// refusalTime is how long a log-in that is refused takes: a wrong password of root takes
// that long by itself (sysnet/account), and directories are faster as a rule.
const refusalTime = time.Second

// knowPeople gives the users who else knows people, and what encrypts their secrets.
func (m *manager) knowPeople(secrets *certs.Book) {
	m.directory = directory.New(directory.Options{Keeper: m.store, Secrets: secrets, Authority: secrets.DownloadAuthority, Log: slog.Default()})
	m.provider = oidc.New(oidc.Options{Keeper: m.store, Secrets: secrets, Authority: secrets.DownloadAuthority, Log: slog.Default()})
	m.users.Secrets, m.users.Directory = secrets, m.directory.Right
}

// rootPassword has the supervisor check passwords of the system's root.
func (m *manager) rootPassword(ctx context.Context, _, password string) (bool, error) {
	right, err := m.line.RootPassword(ctx, password)
	if err != nil {
		return false, fmt.Errorf("%w: %w", apply.ErrUnavailable, err)
	}
	return right, nil
}

// changeRootPassword has the supervisor change it. Why it cannot be is for who asked.
func (m *manager) changeRootPassword(ctx context.Context, old, new string) (bool, error) {
	right, err := m.line.ChangeRootPassword(ctx, old, new)
	var refused *line.RefusedError
	switch {
	case errors.As(err, &refused):
		return false, &rbac.Error{Kind: rbac.Invalid, Message: "newpassword: " + refused.Why}
	case err != nil:
		return false, fmt.Errorf("change the password of root: %w", err)
	}
	return right, nil
}
