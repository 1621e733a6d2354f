package people

import (
	"errors"
	"fmt"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/people"
)

// SecondPath is the path for setting up a second factor. Its responses contain secrets and
// are never stored.
const SecondPath = "/system/users/totp"

func (s *Resource) secondOperations() []*rest.Operation {
	return []*rest.Operation{
		rest.Op(rest.Get, SecondPath, rbac.Open, "Get your second factor", s.getSecond),
		rest.Op(rest.Post, SecondPath, rbac.Open, "Enrol a second factor", s.enrol).
			Body(&people.SecondEnrol).Created().Outlives().Verifies(),
		rest.Op(rest.Post, SecondPath+"/actions", rbac.Open, "Confirm or disable your second factor", s.actOnSecond).
			Body(&people.SecondAction).Outlives().Verifies(),
		rest.Op(rest.Delete, "/rbac/users/{user}/totp", rbac.UserModify, "Remove the second factor of a user", s.removeSecond).Outlives(),
	}
}

// SecondItem describes a second factor.
type SecondItem struct {
	Status   rbac.SecondState `json:"status" enum:"off,pending,on" doc:"pending: enrolled but not confirmed, so not required yet"`
	Recovery int              `json:"recovery_codes" doc:"Number of remaining recovery codes"`
}

// NewSecond is a new second factor. Only this response shows its secret.
type NewSecond struct {
	Secret string `json:"secret" doc:"Secret in base32 for authenticator apps; never shown again"`
	URI    string `json:"uri" doc:"otpauth:// URL for the QR code of authenticator apps"`
}

// SecondDone is the response to an action. Only this response shows these codes.
type SecondDone struct {
	SecondItem
	Codes []string `json:"codes,omitempty" doc:"Recovery codes, each valid for one login; never shown again"`
}

func (s *Resource) secondItem(user string) (SecondItem, error) {
	u, err := s.deps.Users.User(user)
	state, left := u.Second()
	return SecondItem{state, left}, rbacRejection(err)
}

func (s *Resource) getSecond(c *rest.Call) (rest.Object[SecondItem], error) {
	item, err := s.secondItem(c.By.Who.Name())
	return rest.Object[SecondItem]{Description: c.Summary(), Params: item}, err
}

// enrol requires the password, so an unattended session is not enough. Root on the local
// socket is exempt, as it has full access anyway.
func (s *Resource) enrol(c *rest.Call) (rest.Object[NewSecond], error) {
	values, err := rest.Decode(c, &people.SecondEnrol)
	if err != nil {
		return rest.Object[NewSecond]{}, err
	}
	name := c.By.Who.Name()
	book := s.sameUser(c, name)
	if err := s.checkPassword(c, name, values.Get("password").Text()); err != nil {
		return rest.Object[NewSecond]{}, err
	}
	key, err := book(c.Book(s.deps.Users)).Enrol(name)
	if err != nil {
		return rest.Object[NewSecond]{}, rbacRejection(err)
	}
	s.log(c, "second factor enrolled", "user", name)
	return rest.Object[NewSecond]{Description: c.Summary(), Params: NewSecond{key.Secret, key.URI},
		Message: "The second factor has been enrolled. It is asked for once a code of it was confirmed."}, nil
}

// checkPassword rejects a wrong password.
func (s *Resource) checkPassword(c *rest.Call, name, password string) error {
	if auth.Trusted(c.Request) {
		return nil
	}
	switch right, err := s.deps.Guard.Right(c.Request, name, password); {
	case err != nil:
		return Unauthorized(s.deps.Log, c.Request, err)
	case !right:
		return rest.BadRequest("password is not the one in force")
	}
	return nil
}

// checkCode rejects a wrong code.
func (s *Resource) checkCode(c *rest.Call, name, code string) error {
	if auth.Trusted(c.Request) {
		return nil
	}
	switch right, err := s.deps.Guard.Code(c.Request, name, code); {
	case err != nil:
		return Unauthorized(s.deps.Log, c.Request, err)
	case !right:
		return wrongCode()
	}
	return nil
}

func wrongCode() error {
	return rest.BadRequest("code is not right, or was used already: wait for the next one; is the clock of the device right?")
}

func (s *Resource) actOnSecond(c *rest.Call) (rest.Object[SecondDone], error) {
	values, err := rest.Decode(c, &people.SecondAction)
	if err != nil {
		return rest.Object[SecondDone]{}, err
	}
	name, code := c.By.Who.Name(), values.Get("code").Text()
	var codes []string
	book := s.sameUser(c, name)
	message := "The second factor is off."
	switch action := values.Get("action").Text(); action {
	case "confirm":
		codes, err = s.confirmSecond(c, book(c.Book(s.deps.Users)), name, code)
		message = "The second factor is asked for from now on; everybody who was logged in as you is logged out. Keep the recovery codes: each is good for one log-in, and they are not shown again."
	case "recovery":
		if err = c.Act(); err == nil {
			err = s.checkCode(c, name, code)
		}
		if err == nil {
			codes, err = book(s.deps.Users).RenewRecovery(name)
		}
		message = "These recovery codes replace the old ones. They are not shown again."
	default:
		err = s.disable(c, book, name, values.Get("password").Text(), code)
	}
	switch {
	case errors.Is(err, rbac.ErrCode):
		return rest.Object[SecondDone]{}, wrongCode()
	case err != nil:
		return rest.Object[SecondDone]{}, rbacRejection(err)
	}
	s.log(c, "second factor changed", "user", name, "what", values.Get("action").Text())
	item, err := s.secondItem(name)
	return rest.Object[SecondDone]{Description: c.Summary(), Params: SecondDone{item, codes}, Message: message}, err
}

// confirmSecond activates the second factor. Wrong codes count like wrong codes in logins.
func (s *Resource) confirmSecond(c *rest.Call, book *rbac.Book, name, code string) (codes []string, err error) {
	err = s.deps.Guard.Try(c.Request, name, func() (err error) {
		codes, err = book.Confirm(name, code, s.deps.Now())
		return err
	})
	var locked *auth.LockedError
	if errors.As(err, &locked) {
		return nil, Unauthorized(s.deps.Log, c.Request, err)
	}
	return codes, err
}

// disable requires the password, and a code if the factor is active.
func (s *Resource) disable(c *rest.Call, book inTurn, name, password, code string) error {
	if err := s.checkPassword(c, name, password); err != nil {
		return err
	}
	if err := c.Act(); err != nil {
		return err
	}
	if err := s.checkCode(c, name, code); err != nil {
		return err
	}
	return book(s.deps.Users).Disable(name)
}

func (s *Resource) removeSecond(c *rest.Call) (rest.Done, error) {
	u, err := s.namedUser(c)
	if err != nil {
		return rest.Done{}, err
	}
	if err := c.Book(s.deps.Users).Disable(u.Name); err != nil {
		return rest.Done{}, rbacRejection(err)
	}
	s.log(c, "second factor removed", "user", u.Name)
	return rest.NewDone(c.Summary(), fmt.Sprintf("The user %s logs in without a second factor now, until it enrols another one.", u.Name)), nil
}
