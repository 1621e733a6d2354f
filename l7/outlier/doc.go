// Package outlier finds the backends of a service that are worse than the others: those with
// a higher failure rate than the service allows, or with response times many times longer.
// It only evaluates the counts of a time window.
//
// Problems common to all backends do not count against one. A backend stands out only if
// another does well or was idle, so a client whose requests fail everywhere gets no backend
// ejected. Times are compared by their medians, which a few slow requests of one client do
// not shift.
package outlier
