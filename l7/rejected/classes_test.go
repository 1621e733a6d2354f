package rejected_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
)

// byName lists the request errors by class name.
var byName = map[string][]*http1.Error{
	"bad-request": {
		http1.ErrRequestLine, http1.ErrVersion, http1.ErrVersionUnknown, http1.ErrLineEnd, http1.ErrFold, http1.ErrFieldName, http1.ErrFieldValue,
		http1.ErrConnection, http1.ErrExpect, http1.ErrTraceBody, http1.ErrCodingUnknown,
	},
	"request-smuggling": {
		http1.ErrLength, http1.ErrLengthRepeated, http1.ErrCoding, http1.ErrCodingVersion, http1.ErrCodingLength,
		http1.ErrChunkSize, http1.ErrChunkExtension, http1.ErrChunkEnd, http1.ErrTrailer, http1.ErrTrailerTooLong, http1.ErrTrailerField,
	},
	"bad-host": {http1.ErrHostMissing, http1.ErrHostRepeated, http1.ErrHost, http1.ErrTargetHost},
	"bad-target": {
		http1.ErrTarget, http1.ErrTargetByte, http1.ErrTargetEscape, http1.ErrTargetHidden, http1.ErrTargetDouble, http1.ErrTargetUTF8,
		http1.ErrTargetDots, http1.ErrTargetParam, http1.ErrTargetControl,
	},
	"head-too-long": {http1.ErrTargetTooLong, http1.ErrHeadTooLong, http1.ErrTooManyFields},
	"bad-method":    {http1.ErrMethodTooLong, http1.ErrConnect},
	"body-too-long": {http1.ErrBodyTooLong},
}

func TestClassifyReturnsClassStatusAndReason(t *testing.T) {
	for name, errs := range byName {
		for _, bad := range errs {
			for _, err := range []error{bad, fmt.Errorf("rules: %w", bad)} {
				class, status, reason := rejected.Classify(err)
				if rejected.Names[class] != name || status != bad.Status || reason != bad.Reason {
					t.Errorf("%v is %s, %d, %q; want %s", err, rejected.Names[class], status, reason, name)
				}
			}
		}
	}
	if class, status, reason := rejected.Classify(errors.New("from \x00 the client")); class != rejected.BadRequest || status != 400 || reason != "malformed request" {
		t.Errorf("an unknown error is %s, %d, %q", rejected.Names[class], status, reason)
	}
}

func TestClassNamesAreUnique(t *testing.T) {
	name, seen := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`), map[string]bool{}
	for class, n := range rejected.Names {
		if !name.MatchString(n) || seen[n] {
			t.Errorf("class %d is called %q", class, n)
		}
		seen[n] = true
	}
	if n := int(rejected.Shortage) + 1; n != len(rejected.Names) || n > stats.MaxClasses {
		t.Errorf("%d classes, %d names, room for %d", n, len(rejected.Names), stats.MaxClasses)
	}
	for class, want := range map[rejection.Class]string{
		rejected.BadRequest: "bad-request", rejected.Timeout: "timeout", rejected.Flood: "flood", rejected.BadAnswer: "bad-answer",
		rejected.BackendTimeout: "backend-timeout", rejected.BadHandshake: "backend-handshake", rejected.ClientHandshake: "client-handshake", rejected.NoBackend: "no-backend", rejected.Shortage: "shortage",
	} {
		if rejected.Names[class] != want {
			t.Errorf("%q is called %q", want, rejected.Names[class])
		}
	}
}

func TestRejectionIsCountedOnceInItsCounter(t *testing.T) {
	for class, name := range rejected.Names {
		var got, want stats.Farm
		rejected.Count(&got, rejection.Class(class))
		switch name {
		case "head-too-long":
			want.RefusedHead = 1
		case "bad-method":
			want.BadMethods = 1
		case "no-service":
			want.NoBackend = 1
		case "rate-limited", "unauthorized":
		default:
			want.BadRequests = 1
		}
		if got != want {
			t.Errorf("%s is counted as %+v, want %+v", name, got, want)
		}
	}
}

func TestBecauseReturnsTheGivenCause(t *testing.T) {
	if c := rejected.Because(rejected.RateLimited, 429, "too many"); *c != (rejected.Cause{Class: rejected.RateLimited, Status: 429, Reason: "too many"}) {
		t.Errorf("%+v", c)
	}
}

// Refusing must be as cheap as serving.
func TestClassifyingAllocatesNothing(t *testing.T) {
	var s stats.Farm
	if n := testing.AllocsPerRun(100, func() {
		class, _, _ := rejected.Classify(http1.ErrTargetDots)
		rejected.Count(&s, class)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
