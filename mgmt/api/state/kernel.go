package state

import (
	"context"
	"errors"
	"net/http"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// ErrKernel means that the kernel refused a request. The wrapping error gives the reason,
// which is also shown to the client.
var ErrKernel = errors.New("the kernel refused")

// KernelRejection converts ErrKernel and the unavailability of netd into a rejection.
func KernelRejection(err error) error {
	if errors.Is(err, ErrKernel) {
		return &rest.Rejection{Status: http.StatusConflict, Message: err.Error(), Cause: err}
	}
	if errors.Is(err, apply.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return &rest.Rejection{Status: http.StatusServiceUnavailable, Message: "netd does not answer, and it is what knows the kernel: try again", Cause: err}
	}
	return err
}
