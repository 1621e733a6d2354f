//go:build race

package zone_test

const raced = true
