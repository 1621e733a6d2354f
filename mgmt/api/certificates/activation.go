package certificates

import (
	"errors"
	"time"

	"github.com/sluicelb/sluice/mgmt/activation"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Activation stores the activation certificate; *activation.Keeper implements it.
type Activation interface {
	Get() (activation.Info, error)
	Put(raw []byte, act func() error) (activation.Info, error)
	Delete(act func() error) error
}

func (s *Resource) activationOperations() []*rest.Operation {
	if s.deps.Activation == nil {
		return nil
	}
	const path = "/certificates/activation"
	return []*rest.Operation{
		rest.File(rest.Get, path, rbac.RootOnly, "Get the activation certificate", textType, s.getActivation),
		rest.Op(rest.Post, path, rbac.RootOnly, "Upload an activation certificate", s.uploadActivation).TakesFile(pemTypes),
		rest.Op(rest.Delete, path, rbac.RootOnly, "Delete the activation certificate", s.deleteActivation),
		rest.Op(rest.Get, path+"/info", rbac.Open, "Get the activation certificate", s.describeActivation),
	}
}

// ActivationView describes the activation certificate.
type ActivationView struct {
	Days     int               `json:"days_to_expire" doc:"Negative after expiry"`
	Hostname string            `json:"hostname"`
	Type     string            `json:"type"`
	Status   activation.Status `json:"status" enum:"valid,about to expire,expired,not yet valid"`
	Notice   string            `json:"notice" doc:"Note for the operator; empty if there is no problem"`
	Issuer   string            `json:"issuer"`
	Expires  time.Time         `json:"expiration"`
}

func activationView(i activation.Info) ActivationView {
	return ActivationView{i.DaysLeft, i.Hostname, i.Type, i.Status, i.Notice, i.Issuer, i.NotAfter.UTC()}
}

func activationRejection(err error) error {
	switch {
	case errors.Is(err, activation.ErrNone):
		return rest.NotFound("%s", err)
	case errors.Is(err, activation.ErrInvalid):
		return rest.BadRequest("%s", err)
	}
	return rest.RejectionOf(err, false)
}

func (s *Resource) getActivation(*rest.Call) ([]byte, error) {
	i, err := s.deps.Activation.Get()
	if err != nil {
		return nil, activationRejection(err)
	}
	return i.PEM, nil
}

func (s *Resource) describeActivation(c *rest.Call) (rest.Object[ActivationView], error) {
	i, err := s.deps.Activation.Get()
	if err != nil {
		return rest.Object[ActivationView]{}, activationRejection(err)
	}
	return rest.Object[ActivationView]{Description: c.Summary(), Params: activationView(i)}, nil
}

func (s *Resource) uploadActivation(c *rest.Call) (rest.Object[ActivationView], error) {
	none := rest.Object[ActivationView]{}
	raw, err := rest.ReadBody(c.Request, activation.MaxSize, pemTypes)
	if err == nil {
		_, err = c.Expected()
	}
	if err != nil {
		return none, err
	}
	i, err := s.deps.Activation.Put(raw, c.Act)
	if err != nil {
		return none, activationRejection(err)
	}
	return rest.Object[ActivationView]{Description: c.Summary(), Params: activationView(i), Message: "The activation certificate has been kept.", Warning: i.Notice}, nil
}

func (s *Resource) deleteActivation(c *rest.Call) (rest.Done, error) {
	if _, err := c.Expected(); err != nil {
		return rest.Done{}, err
	}
	if err := s.deps.Activation.Delete(c.Act); err != nil {
		return rest.Done{}, activationRejection(err)
	}
	return rest.NewDone(c.Summary(), "The activation certificate has been deleted."), nil
}
