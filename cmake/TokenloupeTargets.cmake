# What every target of the project shares: language level, warnings, build type, sanitizers, compiler cache.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Dev: fast to build, line numbers in traces, asserts on. The kernels are compiled with -O3 in every type.
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1")
set(CMAKE_EXE_LINKER_FLAGS_DEV "")
set(CMAKE_SHARED_LINKER_FLAGS_DEV "")

# moc 6.4 cannot parse the standard library's <concepts>, which <compare> includes: skip it by its include guard.
set(CMAKE_AUTOMOC_MOC_OPTIONS -D_GLIBCXX_CONCEPTS)

find_program(TOKENLOUPE_CCACHE ccache)
if(TOKENLOUPE_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${TOKENLOUPE_CCACHE})
endif()

add_library(tokenloupe_options INTERFACE)
target_compile_options(tokenloupe_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
    -Wold-style-cast -Woverloaded-virtual -Wcast-align -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 sees overlaps that are none in "text" + std::string at -O3.
    target_compile_options(tokenloupe_options INTERFACE -Wno-restrict)
endif()
if(TOKENLOUPE_WERROR)
    target_compile_options(tokenloupe_options INTERFACE -Werror)
endif()
if(TOKENLOUPE_SANITIZE)
    target_compile_options(tokenloupe_options INTERFACE -fsanitize=${TOKENLOUPE_SANITIZE} -fno-omit-frame-pointer
        -fno-sanitize-recover=all)
    target_link_options(tokenloupe_options INTERFACE -fsanitize=${TOKENLOUPE_SANITIZE})
endif()
target_include_directories(tokenloupe_options INTERFACE ${PROJECT_SOURCE_DIR})

# tokenloupe_library(NAME SOURCES… [LIBS …] [MOC])
# MOC: the sources hold QObjects; also sets the Qt string-safety definitions.
function(tokenloupe_library name)
    cmake_parse_arguments(arg "MOC" "" "SOURCES;LIBS" ${ARGN})
    if(NOT arg_SOURCES)
        add_library(${name} INTERFACE)
        target_link_libraries(${name} INTERFACE tokenloupe_options ${arg_LIBS})
        return()
    endif()
    add_library(${name} STATIC ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC tokenloupe_options ${arg_LIBS})
    if(arg_MOC)
        set_target_properties(${name} PROPERTIES AUTOMOC ON)
        target_compile_definitions(${name} PRIVATE QT_NO_CAST_FROM_ASCII QT_NO_CAST_TO_ASCII QT_USE_QSTRINGBUILDER)
    endif()
endfunction()

# tokenloupe_test(NAME SOURCES… LIBS … [GUI] [LABELS …]): a Qt Test program, run offscreen.
function(tokenloupe_test name)
    cmake_parse_arguments(arg "GUI" "" "SOURCES;LIBS;LABELS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    set_target_properties(${name} PROPERTIES AUTOMOC ON)
    target_link_libraries(${name} PRIVATE tokenloupe_options tokenloupe_testsupport Qt6::Test ${arg_LIBS})
    if(arg_GUI)
        target_link_libraries(${name} PRIVATE Qt6::Widgets)
    endif()
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS "${arg_LABELS}"
        ENVIRONMENT "QT_QPA_PLATFORM=offscreen;QT_LOGGING_RULES=qt.qpa.*=false")
endfunction()
