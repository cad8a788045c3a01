//go:build !race

package styletest

const racing = false
