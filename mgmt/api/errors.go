package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/disk"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// ErrConfigFile: the file of Deps.Reload cannot be read. The error that wraps it
// says why, for the client too.
var ErrConfigFile = errors.New("the configuration file cannot be read")

// ErrorBody is the body of every rejection.
type ErrorBody struct {
	// Description says what was being done, Message what is wrong with it.
	Description string `json:"description" doc:"What was being done"`
	Error       string `json:"error" enum:"true" doc:"Always \"true\""`
	Message     string `json:"message" doc:"What is wrong, and what is allowed"`
	Details     string `json:"details,omitempty" doc:"More about it, where clients know the message by heart"`
}

// rejection is an error with a status. Its text is meant for the client; the
// cause is not and goes to the log.
type rejection struct {
	status      int
	description string
	message     string
	details     string
	cause       error
	// help replaces the body: the fields an empty body could have had.
	help []validate.Param
	// answer replaces it too: what a change would do that was only tried.
	answer any
	// header holds further headers, as Retry-After.
	header http.Header
}

// Error and GetStatus make a rejection what the router expects of an error.
func (r *rejection) Error() string                { return r.message }
func (r *rejection) GetStatus() int               { return r.status }
func (r *rejection) Unwrap() error                { return r.cause }
func (r *rejection) ContentType(string) string    { return "application/json" }
func (r *rejection) GetHeaders() http.Header      { return r.header }
func (r *rejection) MarshalJSON() ([]byte, error) { return encode(r.body()) }

func (r *rejection) body() any {
	if r.answer != nil {
		return r.answer
	}
	if r.help != nil {
		return HelpBody{Description: r.description, Message: r.message, Params: r.help}
	}
	return ErrorBody{Description: r.description, Error: "true", Message: r.message, Details: r.details}
}

func refuse(status int, format string, args ...any) *rejection {
	return &rejection{status: status, message: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *rejection {
	return refuse(http.StatusBadRequest, format, args...)
}

func notFound(format string, args ...any) *rejection {
	return refuse(http.StatusNotFound, format, args...)
}

// rejectionOf turns any error into a rejection. What it does not know is a fault
// of ours: the client learns that there was one, the log learns which.
func rejectionOf(err error, expected bool) *rejection {
	var known *rejection
	var broken *validate.Error
	var refused *apply.Refused
	var placed *document.Error
	var full *disk.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &placed):
		return badRequest("%s", err)
	case errors.As(err, &broken):
		return badRequest("%s", broken.Error())
	case errors.As(err, &refused) && len(refused.Farms) > 0: // a farm that cannot run as it is meant to
		return &rejection{status: http.StatusBadRequest, message: refused.Error(), cause: err}
	case errors.As(err, &refused):
		return &rejection{status: http.StatusConflict, message: refused.Error(), cause: err}
	case errors.Is(err, apply.ErrConflict):
		if expected {
			return refuse(http.StatusPreconditionFailed, "the configuration was changed by someone else: read it again and repeat the change")
		}
		return refuse(http.StatusConflict, "%s", apply.ErrConflict)
	case errors.Is(err, ErrConfigFile):
		return &rejection{status: http.StatusConflict, message: err.Error(), cause: err}
	case errors.Is(err, apply.ErrNotFound), errors.Is(err, store.ErrNotFound):
		return &rejection{status: http.StatusNotFound, message: err.Error(), cause: err}
	case errors.Is(err, apply.ErrUnavailable):
		return &rejection{
			status: http.StatusServiceUnavailable, message: "the engine does not answer: nothing was changed, try again",
			cause: err, header: http.Header{"Retry-After": {"1"}},
		}
	case errors.As(err, &full):
		return &rejection{status: http.StatusInsufficientStorage, message: "nothing was changed: " + err.Error(), cause: err}
	case errors.Is(err, store.ErrDiskFailed):
		return &rejection{status: http.StatusInsufficientStorage, message: err.Error(), cause: err}
	case errors.Is(err, store.ErrCorrupt):
		return &rejection{status: http.StatusInternalServerError, message: err.Error(), cause: err}
	default:
		return &rejection{status: http.StatusInternalServerError, message: internalFault, cause: err}
	}
}

const internalFault = "internal fault: see the log of the appliance"
