package rest

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"

	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/disk"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/trial"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// ErrConfigFile means that the start-up file cannot be read. The wrapping error gives the
// reason, which is also shown to the client.
var ErrConfigFile = errors.New("the configuration file cannot be read")

// ErrorBody is the body of every rejection.
type ErrorBody struct {
	// Description names the operation, Message the problem.
	Description string `json:"description" doc:"Operation in progress"`
	Error       string `json:"error" enum:"true" doc:"Always \"true\""`
	Message     string `json:"message" doc:"Problem and allowed values"`
	Details     string `json:"details,omitempty" doc:"Further details, for clients that match the message literally"`
	Code        string `json:"code,omitempty" enum:"confirm_session,force" doc:"Remedy for the client: confirm_session: send POST /session/confirm, then repeat the request; force: repeat the request with force=true, which accepts the stated consequence"`
	Field       string `json:"field,omitempty" doc:"Name of the invalid field in the body, if applicable"`
	Write       *int   `json:"write,omitempty" doc:"Position (from 0) of the rejected write in a transaction"`
}

// Rejection is an error with a status. Its message is for the client; the cause is only
// logged.
type Rejection struct {
	Status      int
	Description string
	Message     string
	Details     string
	Code        string // what the client can do, see CodeConfirm
	Field       string // the faulty field of the body, "" if it is not one field
	Write       *int   // the position of the rejected write in a transaction
	Cause       error
	// help replaces the body by the list of possible fields.
	help []field.Param
	// answer replaces the body by the result of a dry run.
	answer any
	// Header holds further headers, e.g. Retry-After.
	Header http.Header
}

func (r *Rejection) Error() string { return r.Message }

func (r *Rejection) Unwrap() error { return r.Cause }

// Send writes the rejection as the response.
func (r *Rejection) Send(w http.ResponseWriter) {
	maps.Copy(w.Header(), r.Header)
	WriteJSON(w, r.Status, r.Body())
}

// SendPage writes the rejection as an HTML page.
func (r *Rejection) SendPage(w http.ResponseWriter, page []byte) {
	maps.Copy(w.Header(), r.Header)
	w.Header().Set("Content-Type", PageType)
	w.WriteHeader(r.Status)
	_, _ = w.Write(page)
}

// Body returns the response body.
func (r *Rejection) Body() any {
	if r.answer != nil {
		return r.answer
	}
	if r.help != nil {
		return HelpBody{Description: r.Description, Message: r.Message, Params: r.help}
	}
	return ErrorBody{Description: r.Description, Error: "true", Message: r.Message, Details: r.Details, Code: r.Code, Field: r.Field, Write: r.Write}
}

// Refuse returns a rejection with a status.
func Refuse(status int, format string, args ...any) *Rejection {
	return &Rejection{Status: status, Message: fmt.Sprintf(format, args...)}
}

// BadRequest returns a rejection with status 400.
func BadRequest(format string, args ...any) *Rejection {
	return Refuse(http.StatusBadRequest, format, args...)
}

// NotFound returns a rejection with status 404.
func NotFound(format string, args ...any) *Rejection {
	return Refuse(http.StatusNotFound, format, args...)
}

// RejectionOf converts any error into a rejection. Unknown errors become an internal fault,
// whose details only the log contains.
func RejectionOf(err error, expected bool) *Rejection {
	var known *Rejection
	var forceable *apply.Forceable
	var broken *field.Error
	var refused *apply.Refused
	var placed *document.Error
	var full *disk.Error
	var pending *apply.PendingError
	var unmeasurable *trial.Unmeasurable
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &forceable):
		r := *RejectionOf(forceable.Reason, expected)
		r.Code, r.Message = CodeForce, err.Error()
		return &r
	case errors.As(err, &placed):
		return BadRequest("%s", err)
	case errors.As(err, &broken):
		return &Rejection{Status: http.StatusBadRequest, Message: broken.Error(), Field: broken.Field}
	case errors.As(err, &refused) && len(refused.Farms) > 0: // a farm that cannot run as intended
		return &Rejection{Status: http.StatusBadRequest, Message: refused.Error(), Cause: err}
	case errors.As(err, &refused):
		return &Rejection{Status: http.StatusConflict, Message: refused.Error(), Cause: err}
	case errors.Is(err, apply.ErrConflict):
		if expected {
			return Refuse(http.StatusPreconditionFailed, "the configuration was changed by someone else: read it again and repeat the change")
		}
		return Refuse(http.StatusConflict, "%s", err)
	case errors.As(err, &pending), errors.Is(err, apply.ErrNotPending), errors.Is(err, store.ErrTagged), errors.Is(err, store.ErrTooManyTags):
		return &Rejection{Status: http.StatusConflict, Message: err.Error(), Cause: err}
	case errors.As(err, &unmeasurable), errors.Is(err, apply.ErrNoConfiguration):
		return BadRequest("%s", err)
	case errors.Is(err, ErrConfigFile):
		return &Rejection{Status: http.StatusConflict, Message: err.Error(), Cause: err}
	case errors.Is(err, apply.ErrNotFound), errors.Is(err, store.ErrNotFound):
		return &Rejection{Status: http.StatusNotFound, Message: err.Error(), Cause: err}
	case errors.Is(err, apply.ErrUnavailable):
		return &Rejection{
			Status: http.StatusServiceUnavailable, Message: "the engine does not answer: nothing was changed, try again",
			Cause: err, Header: http.Header{"Retry-After": {"1"}},
		}
	case errors.Is(err, store.ErrRestored):
		return &Rejection{
			Status: http.StatusServiceUnavailable, Message: store.ErrRestored.Error(),
			Cause: err, Header: http.Header{"Retry-After": {"5"}},
		}
	case errors.As(err, &full):
		return &Rejection{Status: http.StatusInsufficientStorage, Message: "nothing was changed: " + err.Error(), Cause: err}
	case errors.Is(err, store.ErrDiskFailed):
		return &Rejection{Status: http.StatusInsufficientStorage, Message: err.Error(), Cause: err}
	case errors.Is(err, store.ErrCorrupt):
		return &Rejection{Status: http.StatusInternalServerError, Message: err.Error(), Cause: err}
	default:
		return &Rejection{Status: http.StatusInternalServerError, Message: InternalFault, Cause: err}
	}
}

// CodeForce is the code of a rejection that force overrides.
const CodeForce = "force"

// InternalFault is the client's message about an internal fault.
const InternalFault = "internal fault: see the log of the appliance"

// LogFault logs server errors. Client errors are in the response only. A client that
// disconnects early is not an error.
func LogFault(log *slog.Logger, r *http.Request, err *Rejection) {
	if gone := r.Context().Err(); gone != nil && errors.Is(err.Cause, gone) {
		return
	}
	if err.Status >= http.StatusInternalServerError {
		why := err.Message // the client's message, if there is no cause
		if err.Cause != nil {
			why = err.Cause.Error()
		}
		log.Error("API request failed", "method", r.Method, "path", r.URL.Path, "status", err.Status, "error", why)
	}
}
