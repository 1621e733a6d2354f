package people

import (
	"errors"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/people"
)

// ConfirmPath is the path for proving password and second factor again.
const ConfirmPath = SessionPath + "/confirm"

// confirmSession raises the session: for some minutes it may create objects that outlive
// it.
func (s *Resource) confirmSession(c *rest.Call) (rest.Done, error) {
	values, err := rest.Decode(c, &people.SessionConfirm)
	if err != nil {
		return rest.Done{}, err
	}
	if !c.By.Session {
		return rest.Done{}, rest.BadRequest("only sessions are confirmed: requests with an API key need no confirmation")
	}
	if u, err := s.deps.Users.User(c.By.Who.Name()); err == nil && u.Service == rbac.OIDC {
		return rest.Done{}, rest.BadRequest("users of OpenID Connect have no password here: log in again at the provider with GET %s?%s=true", oidcPath, againQuery)
	}
	switch err := s.deps.Guard.Confirm(c.Request, values.Get("password").Text(), values.Get("code").Text()); {
	case err == nil:
	case errors.Is(err, rbac.ErrWrong), errors.Is(err, rbac.ErrCode):
		return rest.Done{}, rest.BadRequest("password or code is not right")
	default:
		return rest.Done{}, Unauthorized(s.deps.Log, c.Request, err)
	}
	s.log(c, "session confirmed", "user", c.By.Who.Name(), "for", auth.RaisedTime)
	return rest.NewDone(c.Summary(), "The session is confirmed for 5 minutes."), nil
}
