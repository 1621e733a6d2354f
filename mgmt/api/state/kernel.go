package state

import (
	"context"
	"errors"
	"net/http"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// ErrKernel: the kernel did not do what it was asked. The error that wraps it
// says why, for the client too.
var ErrKernel = errors.New("the kernel refused")

// KernelRejection says that netd is away or what it says, if that is why.
func KernelRejection(err error) error {
	if errors.Is(err, ErrKernel) {
		return &rest.Rejection{Status: http.StatusConflict, Message: err.Error(), Cause: err}
	}
	if errors.Is(err, apply.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return &rest.Rejection{Status: http.StatusServiceUnavailable, Message: "netd does not answer, and it is what knows the kernel: try again", Cause: err}
	}
	return err
}
