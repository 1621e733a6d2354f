package rest

import (
	"context"
	"net/http"
	"reflect"

	"github.com/sluicelb/sluice/core/farm"
)

// CodeConfirm is the code of the rejection that asks to confirm the session first.
const CodeConfirm = "confirm_session"

// checkRaised rejects an operation whose result outlives the session (e.g. a new key) unless
// the session is raised.
func (c *Call) checkRaised() error {
	if !c.op.outlives {
		return nil
	}
	return c.needsRaised("this outlives your session")
}

// needsRaised rejects a session whose user has not recently proven password and second
// factor, with the reason. A dry run needs no confirmation.
func (c *Call) needsRaised(why string) error {
	if !c.By.Session || c.By.Raised || c.onlyTries() {
		return nil
	}
	return &Rejection{Status: http.StatusForbidden, Code: CodeConfirm,
		Message: "confirm your password first: " + why,
		Details: "send password, and code if you have a second factor, with POST /session/confirm; users of OpenID Connect log in again with GET /session/oidc?reauthenticate=true. The confirmation holds for 5 minutes, as does a login. Requests with an API key need none."}
}

type onlyTried struct{}

// ForWrites returns the context for the writes of a transaction: with the current rights of the
// caller, and as dry runs if the transaction is one.
func (c *Call) ForWrites(ctx context.Context) context.Context {
	*c.effects = effects{needs: []string{string(c.op.Needs)}} // the transaction may be made anew
	ctx = context.WithValue(WithPrincipal(ctx, c.By), effectsKey{}, c.effects)
	if !c.onlyTries() {
		return ctx
	}
	return context.WithValue(ctx, onlyTried{}, true)
}

// onlyTries reports whether the call is, or is part of, a dry run.
func (c *Call) onlyTries() bool {
	dry, err := c.Flag(dryRun)
	return err == nil && dry || c.Context.Value(onlyTried{}) != nil
}

// permitAccess rejects a session that is not raised if the change grants access to the
// appliance or redirects its messages, however it is made.
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
