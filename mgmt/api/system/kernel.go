package system

import (
	"context"
	"net/http"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Kernel reports what the appliance has set in the kernel, from netd. It returns
// apply.ErrUnavailable if netd does not respond, state.ErrKernel, and other errors.
type Kernel interface {
	// Rules returns the packet filter rules of a farm as text, "" if it has none.
	Rules(ctx context.Context, farm uint32) (string, error)
	// Objects lists everything that is set.
	Objects(ctx context.Context) ([]KernelObject, error)
}

// KernelObject is one object that the appliance has set in the kernel.
type KernelObject struct {
	Kind   string `json:"kind" doc:"table, address, sysctl, firewall, listener, …"`
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty" doc:"Purpose, or description of the previous state"`
}

func (s *Resource) kernelOperations() []*rest.Operation {
	if s.deps.Kernel == nil {
		return nil
	}
	return []*rest.Operation{
		rest.Op(rest.Get, "/system/kernel", rbac.SystemMenu, "List kernel settings made by the appliance", s.listKernel).OfAll(),
		rest.Op(rest.Post, "/system/kernel/clean", rbac.RootOnly, "Remove kernel settings made by the appliance", s.cleanKernel),
	}
}

func (s *Resource) listKernel(c *rest.Call) (rest.List[KernelObject], error) {
	found, err := s.deps.Kernel.Objects(c.Context)
	if err != nil {
		return rest.List[KernelObject]{}, state.KernelRejection(err)
	}
	return rest.NewList(c.Summary(), found), nil
}

func (s *Resource) cleanKernel(c *rest.Call) (rest.Object[[]KernelObject], error) {
	var none rest.Object[[]KernelObject]
	if _, err := c.Expected(); err != nil {
		return none, err
	}
	if err := c.Act(); err != nil {
		return none, err
	}
	return none, rest.Refuse(http.StatusConflict, "the appliance runs and needs what it has set in the kernel: stop it, then run 'sluice system clean' on the machine as root")
}
