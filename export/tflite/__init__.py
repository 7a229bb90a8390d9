"""Export to TFLite: conversion, passes over the flatbuffer, quantization, checks."""
