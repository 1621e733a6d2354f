package mgmt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/cmd/supervisor/line"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/people"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/directory"
	"github.com/sluicelb/sluice/mgmt/oidc"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// refusalTime is the duration of a refused login. It equals that of a wrong root password
// (sysnet/account); directories usually respond faster.
const refusalTime = time.Second

// openPeople opens users, groups and roles, and the record of failed logins.
func (m *manager) openPeople() (err error) {
	if m.users, err = rbac.NewBook(m.store); err != nil {
		return err
	}
	m.guesses = auth.OpenLedger(".", slog.Default(), time.Now)
	m.users.System, m.users.ChangeSystem = m.rootPassword, m.changeRootPassword
	m.knowPeople(m.book)
	return nil
}

// knowPeople connects the users with the directory, the identity provider and the encryption
// of their secrets.
func (m *manager) knowPeople(secrets *certs.Book) {
	m.directory = directory.New(directory.Options{Keeper: m.store, Secrets: secrets, Authority: secrets.DownloadAuthority, Log: slog.Default()})
	m.provider = oidc.New(oidc.Options{Keeper: m.store, Secrets: secrets, Authority: secrets.DownloadAuthority, Log: slog.Default()})
	m.users.Secrets, m.users.Directory = secrets, m.directory.Right
}

// peopleResource makes the resource of users, groups, roles, keys and logins.
func (m *manager) peopleResource(host *api.Host) api.Resource {
	return people.New(people.Deps{
		Users: m.users, Document: people.Document(m.users), Keys: m.store, Guard: host.Guard, Directory: m.directory,
		Provider: m.provider, Developing: host.Developing, Version: m.Version, Log: slog.Default(), Now: time.Now,
	})
}

// rootPassword verifies the system's root password through the supervisor.
func (m *manager) rootPassword(ctx context.Context, _, password string) (bool, error) {
	right, err := m.Line.RootPassword(ctx, password)
	if err != nil {
		return false, fmt.Errorf("%w: %w", apply.ErrUnavailable, err)
	}
	return right, nil
}

// changeRootPassword changes it through the supervisor. Refusals are returned to the caller.
func (m *manager) changeRootPassword(ctx context.Context, old, new string) (bool, error) {
	right, err := m.Line.ChangeRootPassword(ctx, old, new)
	var refused *line.RefusedError
	switch {
	case errors.As(err, &refused):
		return false, &rbac.Error{Kind: rbac.Invalid, Message: "newpassword: " + refused.Why}
	case err != nil:
		return false, fmt.Errorf("change the password of root: %w", err)
	}
	return right, nil
}

// localUsers returns the users besides root who act as root on the control socket: the user
// who started the instance. It is nil if the supervisor passed none. It equals mgmt's own uid
// only if all roles share one.
func localUsers() []uint32 {
	n, err := strconv.ParseUint(os.Getenv(supervisor.UserVariable), 10, 32)
	if err != nil {
		return nil
	}
	return []uint32{uint32(n)}
}
