package rest

import (
	"context"
	"net/http"
	"reflect"

	"github.com/sluicelb/sluice/core/farm"
)

// CodeConfirm is the code of the refusal of a session that must be confirmed first.
const CodeConfirm = "confirm_session"

// checkRaised refuses an operation whose result outlives the session, unless the session
// is raised.
func (c *Call) checkRaised() error {
	if !c.op.outlives {
		return nil
	}
	return c.needsRaised("this outlives your session")
}

// needsRaised refuses a session whose user has not shown password and second factor
// lately, giving the reason. A dry run changes nothing and needs no confirmation.
func (c *Call) needsRaised(why string) error {
	if !c.By.Session || c.By.Raised || c.onlyTries() {
		return nil
	}
	return &Rejection{Status: http.StatusForbidden, Code: CodeConfirm,
		Message: "confirm your password first: " + why,
		Details: "send password, and code if you have a second factor, with POST /session/confirm; users of OpenID Connect log in again with GET /session/oidc?reauthenticate=true. The confirmation holds for 5 minutes, as does a login. Requests with an API key need none."}
}

type onlyTried struct{}

// OnlyTry returns the context of the writes of a transaction, which are only tried if the
// transaction is.
func (c *Call) OnlyTry(ctx context.Context) context.Context {
	if !c.onlyTries() {
		return ctx
	}
	return context.WithValue(ctx, onlyTried{}, true)
}

// onlyTries reports whether the call is a dry run, or part of one.
func (c *Call) onlyTries() bool {
	dry, err := c.Flag(dryRun)
	return err == nil && dry || c.Context.Value(onlyTried{}) != nil
}

// permitAccess refuses a session that is not raised if the change gives access to the
// appliance or sends its messages to somebody, however the change was made.
func (c *Call) permitAccess(before, after *farm.Config) error {
	from, to := &before.System, &after.System
	for _, s := range []struct {
		name     string
		from, to any
	}{{"snmp", from.SNMP, to.SNMP}, {"ssh", from.SSH, to.SSH}, {"http", from.API, to.API}, {"syslog", from.Syslog, to.Syslog}, {"proxy", from.Proxy, to.Proxy}} {
		if !reflect.DeepEqual(s.from, s.to) {
			return c.needsRaised("the settings of " + s.name + " outlive your session")
		}
	}
	return nil
}
