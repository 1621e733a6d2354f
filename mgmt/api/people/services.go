package people

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/directory"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/people"
)

// Directory is the directory of users of the service ldap; *directory.Directory implements
// it.
type Directory interface {
	Settings() (s directory.Settings, password bool, err error)
	Plan(s directory.Settings, password *string) (directory.Settings, error)
	Set(s directory.Settings, password *string) error
	Test(ctx context.Context) (directory.Tested, error)
}

func (s *Resource) serviceOperations() []*rest.Operation {
	const services = "/rbac/services"
	return []*rest.Operation{
		rest.Op(rest.Get, services, rbac.RootOnly, "Get whose users may log in", s.getServices),
		rest.Op(rest.Post, services, rbac.RootOnly, "Change the authentication services", s.setServices).Body(&people.ServicesUpdate).Outlives(),
		rest.Op(rest.Put, services, rbac.RootOnly, "Change the authentication services", s.setServices).Body(&people.ServicesUpdate).Outlives(),
	}
}

func (s *Resource) ldapOperations() []*rest.Operation {
	if s.deps.Directory == nil {
		return nil
	}
	const settings = "/rbac/ldap"
	about := rest.NewDocument("the settings of the directory", func() string {
		now, password, _ := s.deps.Directory.Settings() // an unreadable one is reported when it is changed
		return rest.Digest([]any{now, password})
	})
	return append(rest.About(about,
		rest.Op(rest.Get, settings, rbac.RootOnly, "Get the settings of the directory", s.getLDAP),
		rest.Op(rest.Post, settings, rbac.RootOnly, "Change the settings of the directory", s.setLDAP).Body(&people.LDAPUpdate).Outlives(),
		rest.Op(rest.Put, settings, rbac.RootOnly, "Change the settings of the directory", s.setLDAP).Body(&people.LDAPUpdate).Outlives(),
	), rest.Op(rest.Post, settings+"/actions", rbac.RootOnly, "Test the directory settings", s.testLDAP).Body(&people.LDAPAction).Asks())
}

// ServicesItem states which kinds of users may log in.
type ServicesItem struct {
	Local string `json:"local" enum:"true,false" doc:"Local users"`
	LDAP  string `json:"ldap" enum:"true,false" doc:"Users of the directory"`
}

func (s *Resource) getServices(c *rest.Call) (rest.Object[ServicesItem], error) {
	using := s.deps.Users.Services()
	return rest.Object[ServicesItem]{Description: c.Summary(), Params: ServicesItem{rest.Truth(using.Local), rest.Truth(using.LDAP)}}, nil
}

func (s *Resource) setServices(c *rest.Call) (rest.Object[ServicesItem], error) {
	values, err := rest.Decode(c, &people.ServicesUpdate)
	if err != nil {
		return rest.Object[ServicesItem]{}, err
	}
	using := s.deps.Users.Services()
	for name, to := range map[string]*bool{"local": &using.Local, "ldap": &using.LDAP} {
		if values.Has(name) {
			*to = values.Get(name).Bool()
		}
	}
	if using.LDAP && !s.hasDirectory() {
		return rest.Object[ServicesItem]{}, rest.BadRequest("ldap: there is no directory to ask: set /rbac/ldap first")
	}
	if err := c.Book(s.deps.Users).UseServices(using); err != nil {
		return rest.Object[ServicesItem]{}, err
	}
	s.log(c, "services of users changed", "local", using.Local, "ldap", using.LDAP)
	out, err := s.getServices(c)
	out.Message = "The services have been changed."
	return out, err
}

func (s *Resource) hasDirectory() bool {
	if s.deps.Directory == nil {
		return false
	}
	settings, _, err := s.deps.Directory.Settings()
	return err == nil && settings.Host != ""
}

// LDAPItem describes the directory, without the password.
type LDAPItem struct {
	Host     string             `json:"host" doc:"Empty: none"`
	Port     int                `json:"port"`
	Security directory.Security `json:"security" enum:"starttls,ldaps,none"`
	CA       string             `json:"ca" doc:"CA list; empty uses the system's"`
	BaseDN   string             `json:"base_dn"`
	BindDN   string             `json:"bind_dn" doc:"Empty: anonymous search"`
	Password string             `json:"bind_password" enum:",***" doc:"*** if one is set"`
	Filter   string             `json:"filter"`
	Scope    string             `json:"scope" enum:"base,one,sub"`
	Timeout  int                `json:"timeout" doc:"Seconds"`
	Version  int                `json:"version" enum:"3"`
}

func ldapItem(d directory.Settings, password bool) LDAPItem {
	return LDAPItem{d.Host, d.Port, d.Security, d.CA, d.BaseDN, d.BindDN, starred(password), d.Filter, d.Scope, d.Timeout, 3}
}

// starred stands for a secret, if there is one.
func starred(is bool) string {
	if is {
		return "***"
	}
	return ""
}

func (s *Resource) getLDAP(c *rest.Call) (rest.Object[LDAPItem], error) {
	settings, password, err := s.deps.Directory.Settings()
	return rest.Object[LDAPItem]{Description: c.Summary(), Params: ldapItem(settings, password)}, err
}

func (s *Resource) setLDAP(c *rest.Call) (rest.Object[LDAPItem], error) {
	values, err := rest.Decode(c, &people.LDAPUpdate)
	if err != nil {
		return rest.Object[LDAPItem]{}, err
	}
	if v := values.Get("version"); values.Has("version") && v.Number() != 3 {
		return rest.Object[LDAPItem]{}, rest.BadRequest("version: only 3 is spoken; 1 and 2 are historic (RFC 3494)")
	}
	settings, _, err := s.deps.Directory.Settings()
	if err != nil {
		return rest.Object[LDAPItem]{}, err
	}
	if values.Has("security") && !values.Has("port") {
		settings.Port = 0 // the default of the new kind
	}
	sentTexts(values, map[string]*string{"host": &settings.Host, "ca": &settings.CA, "base_dn": &settings.BaseDN, "bind_dn": &settings.BindDN, "filter": &settings.Filter, "scope": &settings.Scope, "security": (*string)(&settings.Security)})
	for name, to := range map[string]*int{"port": &settings.Port, "timeout": &settings.Timeout} {
		if values.Has(name) {
			*to = int(values.Get(name).Number())
		}
	}
	password := sentSecret(values, "bind_password")
	settings, err = s.deps.Directory.Plan(settings, password)
	if err == nil {
		err = c.Act()
	}
	if err == nil {
		err = s.deps.Directory.Set(settings, password)
	}
	if err != nil {
		var known *directory.Error
		if errors.As(err, &known) {
			err = rest.BadRequest("%s", known)
		}
		return rest.Object[LDAPItem]{}, err
	}
	s.log(c, "settings of the directory changed", "host", settings.Host, "port", settings.Port, "security", settings.Security)
	out, err := s.getLDAP(c)
	out.Message = "The settings of the directory have been changed."
	if settings.Security == directory.None {
		out.Warning = "passwords go to the directory as they are: anybody on the way can read them; use starttls or ldaps"
	}
	return out, err
}

// sentTexts applies the strings that were sent.
func sentTexts(values sentValues, to map[string]*string) {
	for name, at := range to {
		if values.Has(name) {
			*at = values.Get(name).Text()
		}
	}
}

// sentSecret returns the secret that was sent, or nil if it is the placeholder of
// responses.
func sentSecret(values sentValues, name string) *string {
	text := sentText(values, name)
	if text != nil && *text == starred(true) {
		return nil
	}
	return text
}

func (s *Resource) testLDAP(c *rest.Call) (rest.Done, error) {
	if _, err := rest.Decode(c, &people.LDAPAction); err != nil {
		return rest.Done{}, err
	}
	found, err := s.deps.Directory.Test(c.Context)
	var known *directory.Error
	switch {
	case errors.As(err, &known):
		return rest.Done{}, rest.BadRequest("%s", known)
	case err != nil:
		return rest.Done{}, err
	}
	atLeast := ""
	if found.More {
		atLeast = "at least "
	}
	return rest.NewDone(c.Summary(), fmt.Sprintf("The directory answers; the filter finds %s%d users.", atLeast, found.Users)), nil
}
