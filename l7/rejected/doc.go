// Package rejected classifies refused requests and responses. Classes are counted and
// logged, and have the status of the response.
package rejected
