# tokenloupe_report_resources(TARGET): while the .cu files of TARGET are compiled, notes beside each object what its
# kernels use of registers and what they spill. A file lists the reports; its path is in the target's property
# RESOURCE_REPORTS.
function(tokenloupe_report_resources target)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v>")
    set(launcher sh ${PROJECT_SOURCE_DIR}/cmake/nvccreport.sh ${CMAKE_CUDA_COMPILER_LAUNCHER})
    set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER "${launcher}")
    set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}.reports)
    set(objects "$<FILTER:$<TARGET_OBJECTS:${target}>,INCLUDE,[.]cu[.]o(bj)?$>")
    file(GENERATE OUTPUT ${list} CONTENT "$<JOIN:${objects},.resources\n>.resources\n")
    set_target_properties(${target} PROPERTIES RESOURCE_REPORTS ${list})
endfunction()
