// Package cloud implements the API resource of cloud credentials.
package cloud

import (
	"context"
	"errors"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/cloud"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// Accounts stores and checks credentials; *cloud.Manager implements it.
type Accounts interface {
	Kept() (cloud.Credentials, error)
	Check(ctx context.Context) (cloud.Account, error)
	Set(ctx context.Context, by apply.Author, c cloud.Credentials, act func() error) (cloud.Account, error)
	LogOut(by apply.Author) error
}

// Deps are the dependencies of the operations. Without Accounts there are none.
type Deps struct{ Accounts Accounts }

// Resource implements the operations. Use New to make one.
type Resource struct{ deps Deps }

// New returns the resource over deps.
func New(deps Deps) *Resource { return &Resource{deps} }

// Operations returns the operations of the resource.
func (s *Resource) Operations() []*rest.Operation {
	if s.deps.Accounts == nil {
		return nil
	}
	const path = "/cloud/credentials"
	return []*rest.Operation{
		rest.Op(rest.Get, path, rbac.ClusterMenu, "Check the credentials of the cloud", s.check),
		rest.Op(rest.Post, path, rbac.ClusterModify, "Set and check the credentials of a cloud", s.set).Body(fields{}),
		rest.Op(rest.Delete, path, rbac.ClusterModify, "Log out of the cloud", s.logOut),
	}
}

// Credentials describes the stored credentials, without the secret.
type Credentials struct {
	Status   string         `json:"status" enum:"valid,none" doc:"Invalid credentials return 400"`
	Provider cloud.Provider `json:"provider,omitempty" enum:"aws,azure" doc:"Cloud provider"`
	Account  string         `json:"account,omitempty" doc:"AWS account or Azure tenant"`
	Name     string         `json:"name,omitempty" doc:"Identity: AWS ARN or Azure application"`
	Region   string         `json:"region,omitempty" doc:"Region of AWS"`
}

// fields is the body of a request.
type fields struct{}

// Params lists the fields of the body.
func (fields) Params() []field.Param {
	return []field.Param{
		{Name: "provider", PossibleValues: []string{string(cloud.AWS), string(cloud.Azure)}, Options: []string{"required", "non_blank"}, Description: "Cloud provider."},
		{Name: "access_key", Description: "AWS access key."}, {Name: "secret_key", Description: "Secret key; stored encrypted and never returned."}, {Name: "region", Description: "AWS region, e.g. eu-west-1."},
		{Name: "user", Description: "ID of an Azure application (service principal)."}, {Name: "password", Description: "Secret key; stored encrypted and never returned."}, {Name: "tenant", Description: "ID or domain of the Azure tenant."},
	}
}

func view(of cloud.Credentials, account cloud.Account) Credentials {
	v := Credentials{Status: "valid", Provider: of.Provider, Account: account.ID, Name: account.Name}
	if of.Provider == cloud.AWS {
		v.Region = of.Place
	}
	return v
}

func (s *Resource) check(c *rest.Call) (rest.Object[Credentials], error) {
	kept, err := s.deps.Accounts.Kept()
	if err != nil || kept.Provider == "" {
		return rest.Object[Credentials]{Description: c.Summary(), Params: Credentials{Status: "none"}}, err
	}
	c.MayTake(cloud.Patience)
	account, err := s.deps.Accounts.Check(c.Context)
	if err != nil {
		return rest.Object[Credentials]{}, rejection(err)
	}
	return rest.Object[Credentials]{Description: c.Summary(), Params: view(kept, account)}, nil
}

func (s *Resource) set(c *rest.Call) (rest.Object[Credentials], error) {
	body, err := c.Texts(fields{})
	if err != nil {
		return rest.Object[Credentials]{}, err
	}
	made := cloud.Credentials{Provider: cloud.Provider(body["provider"])}
	id, secret, place, others := "access_key", "secret_key", "region", []string{"user", "password", "tenant"}
	if made.Provider == cloud.Azure {
		others = []string{id, secret, place}
		id, secret, place = "user", "password", "tenant"
	}
	for _, name := range others {
		if body[name] != "" {
			return rest.Object[Credentials]{}, rest.BadRequest("%s is of another provider than %s", name, rest.Quote(body["provider"]))
		}
	}
	made.ID, made.Secret, made.Place = body[id], body[secret], body[place]
	c.MayTake(cloud.Patience)
	account, err := s.deps.Accounts.Set(c.Context, c.Author(), made, c.Act)
	if err != nil {
		return rest.Object[Credentials]{}, rejection(err)
	}
	return rest.Object[Credentials]{Description: c.Summary(), Params: view(made, account), Message: "The cloud has taken the credentials."}, nil
}

func (s *Resource) logOut(c *rest.Call) (rest.Done, error) {
	if err := c.Act(); err != nil {
		return rest.Done{}, err
	}
	if err := s.deps.Accounts.LogOut(c.Author()); err != nil {
		return rest.Done{}, rest.RejectionOf(err, false)
	}
	return rest.NewDone(c.Summary(), "The appliance is logged out of the cloud."), nil
}

func rejection(err error) error {
	if known, ok := errors.AsType[*cloud.Error](err); ok {
		return rest.BadRequest("%s", known)
	}
	return rest.RejectionOf(err, false)
}
