// Package suggest finds names that are similar to an unknown word, and the equivalents of terms
// of HAProxy, nginx and other load balancers.
package suggest
