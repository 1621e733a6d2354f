package upkeep

import (
	"errors"
	"slices"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/backup"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// factoryFields is the body of a factory reset.
type factoryFields struct{}

// Params lists the fields for help responses and OpenAPI.
func (factoryFields) Params() []field.Param {
	return []field.Param{
		{Name: "force", PossibleValues: []string{"true"}, Options: []string{"non_blank", "required"}, Description: "Confirmation with true: delete all farms, the history, certificates, users and settings."},
		{Name: "remove_backups", PossibleValues: []string{"true", "false"}, Description: "Also delete all backups. Otherwise a backup of the current state is added."},
		rest.Optional("interface", "Interface to keep. Addresses of all interfaces remain unchanged."),
	}
}

// Reset is the result of a factory reset.
type Reset struct {
	Revision uint64 `json:"revision"`
	Before   string `json:"before,omitempty" doc:"Backup of the previous state"`
}

func (s *Resource) factory(c *rest.Call) (rest.Object[Reset], error) {
	none := rest.Object[Reset]{}
	body, err := c.Object(factoryFields{})
	if err != nil {
		return none, err
	}
	var force, remove bool
	if err := errors.Join(rest.SetTruth(body, "force", &force), rest.SetTruth(body, "remove_backups", &remove)); err != nil {
		return none, rest.BadRequest("%s", err)
	}
	if !force {
		return none, rest.BadRequest("force: it must be true, because everything goes")
	}
	if err := s.checkInterface(body["interface"]); err != nil {
		return none, err
	}
	if _, err := c.Expected(); err != nil {
		return none, err
	}
	result, err := s.deps.Backups.Factory(apply.Force(c.Context), c.Author(), remove, c.Dry())
	if partly := new(backup.Incomplete); errors.As(err, &partly) {
		s.restart()
	}
	if wrong := new(backup.Error); errors.As(err, &wrong) || errors.Is(err, backup.ErrFull) {
		return none, refused(err)
	}
	if _, err := c.Keep(result, err, 0); err != nil {
		return none, err
	}
	out := Reset{Revision: result.Revision.Number, Before: backup.Before}
	if remove {
		out.Before = ""
	}
	s.restart()
	return rest.Object[Reset]{Description: c.Summary(), Params: out,
		Message: "The appliance is as it was when it was installed. Root, its keys and the certificate of the API are still there."}, nil
}

// checkInterface rejects the name of an interface that this machine does not have.
func (s *Resource) checkInterface(raw any) error {
	if raw == nil || s.deps.Interfaces == nil {
		return nil
	}
	name, ok := raw.(string)
	if known := s.deps.Interfaces(); !ok || !slices.Contains(known, name) {
		return rest.BadRequest("interface: %s is none of this machine, which has %v", rest.Quote(name), known)
	}
	return nil
}
